// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/call_chain.hpp>
#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/driver_report.hpp>
#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/callbacks.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The maximum size in bytes of a frame (a message from the driver), not counting the run's kept output.
inline constexpr std::size_t max_report = 32 * 1024 * 1024;
inline constexpr std::size_t max_displayed = 64 * 1024 * 1024;
inline constexpr std::size_t max_waiting_calls = 64;
inline constexpr std::size_t max_waiting_bytes = 32 * 1024 * 1024;
/// The number of bytes that are added to the size of each display, because even an empty display needs memory.
inline constexpr std::size_t display_overhead = 1024;

/// The state of a run in the queue of its context: not reported yet, waiting, or begun. The Python driver reports it
/// only for runs that wait or that are not short, because each frame wakes the host.
enum class run_turn { unknown, queued, began };

/// The state of one run on the host. One coroutine awaits its end.
class driven_run {
 public:
  /// \param executor  the strand of the driver.
  /// \param what      the request to run.
  /// \param keeps     the number of bytes that are kept of each output stream.
  driven_run(const asio::any_io_executor& executor, code_request what, std::size_t keeps)
      : request(std::move(what)), keep(keeps), changed(executor) {}

  /// Prepares the calls of the request's listeners and host functions. Does nothing if it has none.
  /// \param caller  the executor of the coroutine that waits for the run.
  /// \param driver  identifies the driver.
  /// \param outer   the runs that wait for the caller, for the detection of deadlocks; may be null.
  void prepare_calls(const asio::any_io_executor& caller, const void* driver,
                     const std::shared_ptr<const waiting_run>& outer) {
    if (!request.on_output() && !request.on_display() && request.functions().empty()) return;
    listens = strand_of(plain_executor(caller));
    if (!request.functions().empty()) waits = std::make_shared<const waiting_run>(driver, request.context(), outer);
  }

  /// Returns true if the run may still wait for its turn in a queue.
  bool waits_for_turn() const noexcept {
    return turn == run_turn::queued || (turn == run_turn::unknown && request.context());
  }
  /// Records that the run has begun.
  void begin_turn() noexcept {
    turn = run_turn::began;
    began = std::chrono::steady_clock::now();
  }

  /// Waits until the request's listeners have received everything that was posted to them.
  static awaitable<void> until_listeners_done(std::shared_ptr<driven_run> self) {
    const auto nothing = []() -> awaitable<void> { co_return; };
    co_await run_on(self->listens, nothing);
  }

  code_request request;
  asio::any_io_executor listens;  // the caller's strand, on which listeners and host functions are called
  bool listener_failed = false;   // no listener is called any more after an exception; used on the listeners' strand
  bool has_posted = false;        // at least one call of a listener was posted
  std::uint64_t number = 0;
  std::size_t keep;
  async_event changed;
  std::array<bytes, 2> heads;
  std::vector<display_output> displays;
  std::size_t displayed = 0;
  std::size_t kept_files = 0;  // the total size of all received files in bytes
  std::unordered_map<std::string, bytes> contents;
  std::deque<bytes> calls;  // calls of host functions that have not begun yet
  std::size_t waiting_bytes = 0;
  std::exception_ptr listener_failure;  // an exception that a listener of the request has thrown
  run_turn turn = run_turn::unknown;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  bool calling = false;
  std::shared_ptr<const waiting_run> waits;  // this run and the runs that wait for it; passed to its host functions
  asio::cancellation_signal cancel_call;
  bool cancelled = false;
  std::optional<code_result> result;  // present when the run is over
  bool lost = false;                  // true if the driver ended before the run did
};

/// A question that the driver answers at once, such as the names of all contexts.
class driver_question {
 public:
  explicit driver_question(const asio::any_io_executor& executor) : changed(executor) {}
  async_event changed;
  std::optional<boost::json::object> answer;
};

/// A connection to one process of the driver (the program that runs the code). One coroutine reads the output of the
/// process, and another writes its input. Both end together with the process, and `end` waits for them. Other
/// coroutines wait for events of this object.
class driver_link : public std::enable_shared_from_this<driver_link> {
 public:
  driver_link(asio::any_io_executor executor, process running)
      : executor_(std::move(executor)),
        process_(std::move(running)),
        frames_(max_report),
        writable_(executor_),
        changed_(executor_) {}

  /// Starts the coroutines that read and write.
  /// \param first  the input of the process before the first frame.
  void start(bytes first) {
    queued_.push_back(std::move(first));
    const auto self = shared_from_this();
    auto read_ended = [self](std::exception_ptr failure) {
      self->reading_ = false;
      self->lose(failure);
    };
    auto write_ended = [self](std::exception_ptr) {  // the coroutine that reads detects a dead process
      self->writing_ = false;
      self->changed_.notify();
    };
    reading_ = writing_ = true;
    spawn_coroutine(executor_, read(self), std::move(read_ended), stop_reading_.slot());
    spawn_coroutine(executor_, write(self), std::move(write_ended), stop_writing_.slot());
  }

  /// Returns true if the driver has reported that it is ready to run code.
  bool ready() const noexcept { return ready_; }
  /// Returns true if the driver has ended. From then on, every run has a result or is marked as lost.
  bool over() const noexcept { return over_; }
  /// Returns the error with which the environment has failed, if that failure ended the driver; otherwise null.
  const std::exception_ptr& failure() const noexcept { return failure_; }
  /// Returns the isolation of the driver, which all runs share; may be null.
  std::shared_ptr<const isolation_report> isolation() const { return process_.isolation(); }
  /// Returns the result of the driver's process; no value as long as the process runs.
  const std::optional<command_result>& ended_as() const noexcept { return ended_as_; }
  /// Returns the driver's message about the reason why it cannot work; empty if there is none.
  const std::string& complaint() const noexcept { return complaint_; }
  /// Returns the last part of the driver's standard error.
  const std::string& stderr_text() const noexcept { return stderr_text_; }
  /// Returns the version of the interpreter, for example "3.12.1".
  const std::string& version() const noexcept { return version_; }
  const asio::any_io_executor& executor() const noexcept { return executor_; }

  /// Waits until the state of this object changes, but at most until a time.
  awaitable<wait_result> changed(std::chrono::steady_clock::time_point until) { return changed_.wait(until); }

  /// Begins a run: sends the request to the driver.
  /// \param header  the settings of the run, to which its number is added.
  /// \param body    the code and its variables, as JSON.
  void begin(const std::shared_ptr<driven_run>& run, boost::json::object header, std::string_view body) {
    run->number = ++last_number_;
    header["id"] = run->number;
    frames_.raise_longest(2 * run->keep + max_report);
    bytes frame = driver_frame_of(header, body);
    runs_.emplace(run->number, run);
    send(std::move(frame));
  }

  /// Sends a question to the driver. The caller keeps the question until it has an answer, the driver has ended, or
  /// `forget` was called.
  /// \return  the number of the question, for `forget`.
  std::uint64_t ask(const std::shared_ptr<driver_question>& question, boost::json::object header) {
    const std::uint64_t number = ++last_number_;
    header["id"] = number;
    questions_.emplace(number, question);
    send(driver_frame_of(header, {}));
    return number;
  }
  void forget(std::uint64_t question) { questions_.erase(question); }

  /// Requests the driver to end a run. The end of the run is reported in the usual way.
  void cancel(const driven_run& run) {
    boost::json::object header;
    header["op"] = "cancel";
    header["id"] = run.number;
    send(driver_frame_of(header, {}));
  }

  /// Starts the handler of the next call of a host function, unless a handler is running. Calls before it that are not
  /// valid are rejected.
  void serve_calls(const std::shared_ptr<driven_run>& run) {
    while (!run->calling && !run->calls.empty() && !run->result && !run->cancelled) {
      const bytes call_body = std::move(run->calls.front());
      run->calls.pop_front();
      run->waiting_bytes -= call_body.size();
      const std::optional<boost::json::object> call = parse_from_run(call_body);
      const std::optional<std::int64_t> number = call ? number_at(*call, "call") : std::nullopt;
      if (number) serve_call(run, *number, *call);
    }
  }

  /// Ends the driver and all runs. First requests the end by closing the driver's input, and kills the driver if it
  /// does not end in time. Must not be cancelled.
  /// \param grace  the time that the driver has to end by itself.
  static awaitable<void> end(std::shared_ptr<driver_link> self, std::chrono::milliseconds grace) {
    self->ending_ = true;
    self->writable_.notify();
    const auto limit = std::chrono::steady_clock::now() + grace;
    while (self->reading_ && std::chrono::steady_clock::now() < limit) co_await self->changed_.wait(limit);
    if (self->reading_) co_await kill(self);
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (self->reading_ && std::chrono::steady_clock::now() < last) co_await self->changed_.wait(last);
    self->abandon();
    while (self->reading_ || self->writing_) co_await self->changed_.wait();
    self->process_ = process();
  }

  /// Sends SIGKILL to the driver.
  static awaitable<void> kill(std::shared_ptr<driver_link> self) {
    try {
      co_await self->process_.signal(9);
    } catch (const error&) {  // the process has ended or was lost, which the reader detects
    }
  }

  /// Ends both coroutines and the process without waiting, for destructors.
  void abandon() {
    ending_ = true;
    if (reading_) stop_reading_.emit(asio::cancellation_type::terminal);
    if (writing_) stop_writing_.emit(asio::cancellation_type::terminal);
    // Keeps this object alive until the cancelled coroutines have ended.
    if (reading_ || writing_) asio::post(executor_, [self = shared_from_this()] {});
  }

 private:
  void serve_call(const std::shared_ptr<driven_run>& run, std::int64_t number, const boost::json::object& call) {
    std::string kind;
    std::string complaint;
    boost::json::object arguments;
    const host_function* const function = find_function(*run, call, arguments, kind, complaint);
    if (function == nullptr) return answer(run->number, number, kind, std::move(complaint));
    run->calling = true;
    const auto self = shared_from_this();
    auto ended = [self, run, number](std::exception_ptr failure, boost::json::value value) {
      run->calling = false;
      if (!run->result) self->answer_call(run->number, number, failure, std::move(value));
      run->changed.notify();
    };
    asio::co_spawn(executor_, handle(run, function, std::move(arguments)),
                   asio::bind_cancellation_slot(run->cancel_call.slot(), std::move(ended)));
  }

  static awaitable<void> read(std::shared_ptr<driver_link> self) {
    for (;;) {
      output_chunk piece = co_await self->process_.read();
      if (piece.end()) break;
      if (!self->take(piece)) co_return;
    }
    command_result result = co_await self->process_.wait();
    self->ended_as_.emplace(std::move(result));
  }

  static awaitable<void> write(std::shared_ptr<driver_link> self) {
    for (;;) {
      while (self->queued_.empty() && !self->ending_ && !self->over_) {
        const wait_result result = co_await self->writable_.wait();
        if (result == wait_result::cancelled) co_return;
      }
      if (self->over_) co_return;
      if (self->queued_.empty()) break;
      const bytes going = std::move(self->queued_.front());
      self->queued_.pop_front();
      co_await self->process_.write_input(going);
    }
    co_await self->process_.close_input();
  }

  void send(bytes frame) {
    if (over_ || ending_) return;
    queued_.push_back(std::move(frame));
    writable_.notify();
  }

  /// Processes a piece of output. Returns false if the output does not come from a driver.
  bool take(const output_chunk& piece) {
    if (piece.stream() == output_stream::err) {
      stderr_text_ += as_text(piece.data());
      if (stderr_text_.size() > 8192) stderr_text_.erase(0, stderr_text_.size() - 4096);
      return true;
    }
    try {
      frames_.append(piece.data());
      while (std::optional<driver_frame> frame = frames_.next()) receive(*frame);
    } catch (const error& reason) {
      complaint_ = reason.what();
      return false;
    }
    return true;
  }

  void receive(driver_frame& frame) {
    const std::string_view what = text_at(frame.header, "t");
    if (what == "ready" || what == "failed") {
      ready_ = what == "ready";
      version_ = text_at(frame.header, "version");
      complaint_ = text_at(frame.header, "text");
      return changed_.notify();
    }
    const std::int64_t number = number_at(frame.header, "id").value_or(-1);
    if (what == "answer") {
      const auto asked = questions_.find(static_cast<std::uint64_t>(number));
      if (asked == questions_.end()) return;
      const std::shared_ptr<driver_question> question = asked->second;
      questions_.erase(asked);
      question->answer = std::move(frame.header);
      return question->changed.notify();
    }
    const auto found = runs_.find(static_cast<std::uint64_t>(number));
    if (found == runs_.end()) return;
    const std::shared_ptr<driven_run> run = found->second;
    if (what != "turn" && run->waits_for_turn()) run->begin_turn();  // only a run that has begun sends other frames
    if (what == "out") {
      bytes& head = run->heads[number_at(frame.header, "stream").value_or(0) == 1 ? 1 : 0];
      const std::size_t room = run->keep > head.size() ? run->keep - head.size() : 0;
      const bytes_view part = bytes_view(frame.body).first(std::min(room, frame.body.size()));
      head.insert(head.end(), part.begin(), part.end());
      tell_output(run, &head == run->heads.data() ? output_stream::out : output_stream::err, part);
    } else if (what == "display") {
      run->displayed += frame.body.size() + display_overhead;
      if (run->displayed > max_displayed) return;
      std::optional<display_output> shown = read_display(frame.body);
      if (!shown) return;
      if (run->request.on_display())
        return tell(run, [run, shown = std::move(*shown)]() mutable { run->request.on_display()(std::move(shown)); });
      run->displays.push_back(std::move(*shown));
    } else if (what == "file") {
      keep_file(*run, frame.body);
    } else if (what == "call") {
      const std::size_t waiting = run->waiting_bytes + frame.body.size();
      if (run->calls.size() >= max_waiting_calls || waiting > max_waiting_bytes) return;
      run->waiting_bytes = waiting;
      run->calls.push_back(std::move(frame.body));
      run->changed.notify();
    } else if (what == "turn") {
      if (is_true_at(frame.header, "began")) {
        run->begin_turn();
      } else {
        run->turn = run_turn::queued;
      }
      run->changed.notify();
    } else if (what == "end") {
      runs_.erase(found);
      const std::array<std::size_t, 2> told_sizes{run->heads[0].size(), run->heads[1].size()};
      code_result result =
          read_end(frame.header, frame.body, std::move(run->heads), run->request.context().has_value());
      // The driver sends the last output only with the frame of the end.
      tell_output(run, output_stream::out, bytes_view(result.out().head()).subspan(told_sizes[0]));
      tell_output(run, output_stream::err, bytes_view(result.err().head()).subspan(told_sizes[1]));
      result.contents(std::exchange(run->contents, {}));
      run->result = std::move(result);
      run->changed.notify();
    }
  }

  /// Stores the content of a file. The body of the frame has the length of the path (32 bits), the path and the
  /// content.
  static void keep_file(driven_run& run, bytes_view body) {
    if (body.size() < 4) return;
    std::size_t length = 0;
    for (const std::byte each : body.first(4)) length = length * 256 + std::to_integer<std::size_t>(each);
    body = body.subspan(4);
    if (length > body.size()) return;
    const std::string path(as_text(body.first(length)));
    const bytes_view content = body.subspan(length);
    run.kept_files += content.size();
    if (run.kept_files > run.request.kept_files()) return;
    run.contents.insert_or_assign(path, bytes(content.begin(), content.end()));
  }

  /// Passes a piece of output to the run's listener, if there is one.
  void tell_output(const std::shared_ptr<driven_run>& run, output_stream stream, bytes_view piece) {
    if (!run->request.on_output() || piece.empty()) return;
    tell(run, [run, stream, chunk = bytes(piece.begin(), piece.end())] { run->request.on_output()(stream, chunk); });
  }

  /// Calls a listener of a run on the caller's strand. If the listener throws, the run is ended, and the listener is
  /// not called again.
  template <class Told>
  void tell(const std::shared_ptr<driven_run>& run, Told told) {
    if (run->listener_failure) return;
    if (run->listens == executor_) {
      try {
        told();
      } catch (...) {
        fail_listener(*run, std::current_exception());
      }
      return;
    }
    run->has_posted = true;
    asio::post(run->listens, [run, back = executor_, told = std::move(told)]() mutable {
      if (run->listener_failed) return;
      std::exception_ptr failure;
      try {
        told();
      } catch (...) {
        failure = std::current_exception();
      }
      if (!failure) return;
      run->listener_failed = true;
      asio::post(back, [run, failure] { fail_listener(*run, failure); });
    });
  }
  static void fail_listener(driven_run& run, std::exception_ptr failure) {
    run.listener_failure = std::move(failure);
    run.changed.notify();
  }

  void lose(const std::exception_ptr& failure) {
    over_ = true;
    failure_ = ending_ ? nullptr : failure;
    queued_.clear();
    writable_.notify();
    for (auto& [number, run] : std::exchange(runs_, {})) {
      run->lost = true;
      code_result result;
      result.out(captured_output(std::move(run->heads[0]), bytes(), 0))
          .err(captured_output(std::move(run->heads[1]), bytes(), 0));
      result.context_lost(run->request.context().has_value());
      run->result = std::move(result);
      run->changed.notify();
    }
    for (auto& [number, question] : std::exchange(questions_, {})) question->changed.notify();
    changed_.notify();
  }

  /// Returns the name of the Python type for a value, for error messages.
  static std::string type_of(const boost::json::value& value) {
    if (value.is_null()) return "None";
    if (value.is_bool()) return "bool";
    if (value.is_int64() || value.is_uint64()) return "int";
    if (value.is_double()) return "float";
    if (value.is_string()) return "str";
    if (value.is_array()) return "list";
    const std::string_view kind = python_type(value);
    return kind.empty() ? "dict" : std::string(kind);
  }

  static bool fits(const boost::json::value& value, const std::string& type) {
    const std::string_view kind = python_type(value);
    if (type.empty()) return true;
    if (type == "str") return value.is_string() || kind == "str";
    if (type == "int") return value.is_int64() || value.is_uint64() || kind == "int";
    if (type == "float") return value.is_number() || kind == "float" || kind == "int";
    if (type == "bool") return value.is_bool();
    if (type == "list") return value.is_array();
    if (type == "dict") return (value.is_object() && kind.empty()) || kind == "dict";
    return kind == "bytes" || kind == "bytearray";
  }

  /// Finds the host function that a run has called, and converts its arguments. If the call is not valid, returns null,
  /// and sets `kind` and `complaint` to the type and the message of the exception for the Python code.
  static const host_function* find_function(const driven_run& run, const boost::json::object& call,
                                            boost::json::object& arguments, std::string& kind, std::string& complaint) {
    const std::string name(text_at(call, "name"));
    const auto& functions = run.request.functions();
    const auto found = std::find_if(functions.begin(), functions.end(),
                                    [&name](const host_function& each) { return each.name() == name; });
    kind = "NameError";
    complaint = "this run has no host function of this name";
    if (found == functions.end()) return nullptr;
    kind = "TypeError";
    complaint = name + ": the arguments do not match the parameters of the function";
    const boost::json::value* const given = call.if_contains("arguments");
    if (given == nullptr || !given->is_object()) return nullptr;
    if (given->get_object().size() != found->parameters().size()) return nullptr;
    for (const host_parameter& each : found->parameters()) {
      const boost::json::value* const value = given->get_object().if_contains(each.name());
      if (value == nullptr) return nullptr;
      boost::json::value read = *value;
      if (!read_floats(read)) return nullptr;
      if (!fits(read, each.type()) && !(each.default_value() && read == *each.default_value())) {
        complaint =
            name + ": the argument '" + each.name() + "' must be of type " + each.type() + ", not " + type_of(read);
        return nullptr;
      }
      arguments[each.name()] = std::move(read);
    }
    return &*found;
  }

  /// Calls a host function on the caller's strand.
  /// \param run  the run, which keeps the function alive.
  static awaitable<boost::json::value> handle(std::shared_ptr<driven_run> run, const host_function* function,
                                              boost::json::object arguments) {
    const auto call = [&function, &arguments] { return function->call(std::move(arguments)); };
    asio::any_io_executor executor = calling_executor(run->listens, run->waits);
    boost::json::value value = co_await run_on(std::move(executor), call);
    co_return value;
  }

  void answer_call(std::uint64_t run, std::int64_t number, const std::exception_ptr& failure,
                   boost::json::value value) {
    std::string complaint;
    const char* kind = "HostFunctionError";
    try {
      if (failure) std::rethrow_exception(failure);
      mark_special_floats(value);
      boost::json::object reply;
      reply["call"] = number;
      reply["ok"] = true;
      reply["value"] = std::move(value);
      return send_reply(run, reply);
    } catch (const wrong_arguments& reason) {
      kind = "TypeError";
      complaint = reason.what();
    } catch (const std::exception& reason) {
      complaint = reason.what();
    } catch (...) {
      complaint = "the host function failed";
    }
    answer(run, number, kind, std::move(complaint));
  }

  /// Sends an exception to the Python code that has called a host function. Control characters for terminals are
  /// removed from the message.
  void answer(std::uint64_t run, std::int64_t number, const std::string& kind, std::string complaint) {
    boost::json::object reply;
    reply["call"] = number;
    reply["ok"] = false;
    reply["type"] = kind;
    constexpr std::size_t max_bytes = 16 * 1024;
    const std::string_view whole = complaint;
    reply["message"] = printable_text(whole.size() > max_bytes ? without_cut_end(whole.substr(0, max_bytes)) : whole);
    send_reply(run, reply);
  }

  void send_reply(std::uint64_t run, const boost::json::object& reply) {
    boost::json::object header;
    header["op"] = "reply";
    header["id"] = run;
    send(driver_frame_of(header, boost::json::serialize(reply)));
  }

  asio::any_io_executor executor_;
  process process_;
  driver_frames frames_;
  async_event writable_;
  async_event changed_;
  std::deque<bytes> queued_;
  std::unordered_map<std::uint64_t, std::shared_ptr<driven_run>> runs_;
  std::unordered_map<std::uint64_t, std::shared_ptr<driver_question>> questions_;
  std::uint64_t last_number_ = 0;
  asio::cancellation_signal stop_reading_;
  asio::cancellation_signal stop_writing_;
  std::exception_ptr failure_;
  std::optional<command_result> ended_as_;
  std::string complaint_;
  std::string stderr_text_;
  std::string version_;
  bool reading_ = false;
  bool writing_ = false;
  bool ending_ = false;
  bool ready_ = false;
  bool over_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
