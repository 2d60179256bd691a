// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam python`: code through a runner.
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/with.hpp>

#include "host_io.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "place.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "runners.hpp"
#include "session.hpp"
#include "subcommands.hpp"
#include "transfer.hpp"

#include <asio/any_io_executor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

/// The result keeps this many bytes of each output stream. The first half is passed on while the code runs.
constexpr std::size_t kept_output = std::size_t{64} << 20;

std::string read_code(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) refuse("\"" + one_line(path) + "\" cannot be read");
  }
  std::istream& from = path == "-" ? std::cin : file;
  return std::string(std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>());
}

/// Output that arrives while the code runs and waits to be written to the standard streams.
class output_queue {
 public:
  explicit output_queue(const asio::any_io_executor& executor)
      : changed_(executor, asio::steady_timer::time_point::max()) {}

  void push(output_stream stream, bytes_view piece) {
    (stream == output_stream::out ? out_size_ : err_size_) += piece.size();
    push_own(stream, bytes(piece.begin(), piece.end()));
  }
  void push_text(std::string_view text) { push_own(output_stream::out, to_bytes(text)); }

  /// Adds the part of a stream that has not been pushed yet.
  void push_rest(output_stream stream, const captured_output& kept) {
    const std::uint64_t size = stream == output_stream::out ? out_size_ : err_size_;
    if (size < kept.head().size())
      push_own(stream, bytes(kept.head().begin() + static_cast<std::ptrdiff_t>(size), kept.head().end()));
    if (kept.cut() == 0) return;
    push_own(stream, to_bytes(captured_output::cut_marker(kept.cut(), kept.total())));
    push_own(stream, kept.tail());
  }

  void finish() {
    is_finished_ = true;
    changed_.cancel();
  }

  /// Writes what is pushed, until `finish()`. Returns false at once if nothing reads the output any more.
  /// \throws cofferdam::error if writing fails, for example because the disk is full.
  awaitable<bool> write_all() {
    host_stream out(STDOUT_FILENO);
    host_stream err(STDERR_FILENO);
    for (;;) {
      if (pieces_.empty() && is_finished_) co_return true;
      if (pieces_.empty()) {
        std::error_code ignored;
        co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        continue;
      }
      const piece next = std::move(pieces_.front());
      pieces_.pop_front();
      host_stream& stream = next.stream == output_stream::err ? err : out;
      const bool is_read = co_await stream.write(next.data);
      if (!is_read) co_return false;
    }
  }

 private:
  class piece {
   public:
    piece(output_stream which, bytes content) : stream(which), data(std::move(content)) {}
    output_stream stream;
    bytes data;
  };

  void push_own(output_stream stream, bytes data) {
    if (data.empty()) return;
    pieces_.emplace_back(stream, std::move(data));
    changed_.cancel();
  }

  asio::steady_timer changed_;
  std::deque<piece> pieces_;
  std::uint64_t out_size_ = 0;
  std::uint64_t err_size_ = 0;
  bool is_finished_ = false;
};

/// Returns a Python statement that sets sys.argv.
std::string set_arguments(const std::vector<std::string>& words) {
  boost::json::array list;
  for (const std::string& word : words) list.emplace_back(valid_text(word));
  return "__import__('sys').argv[:] = " + boost::json::serialize(list) + "\n";
}

code_request request_of(const python_options& options, std::string source) {
  code_request request(std::move(source));
  request.timeout(options.work.timeout.value_or(no_timeout)).prelude(set_arguments(options.words));
  for (const auto& [name, value] : options.work.variables) request.environment(name, value);
  return request;
}

/// Runs the code, and passes its output on as it arrives. If nothing reads the output any more, ends the code and
/// returns no value.
/// \throws cofferdam::error if the output cannot be written. The code is then ended.
awaitable<std::optional<code_result>> run_streamed(any_runner& runner, code_request request) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  output_queue queue(executor);
  auto on_output = [&queue](output_stream stream, bytes_view piece) { queue.push(stream, piece); };
  auto on_display = [&queue](display_output shown) {
    const auto text = shown.forms().find("text/plain");
    if (text != shown.forms().end()) queue.push_text(text->second + "\n");
  };
  request.keep_output(kept_output).on_output(on_output).on_display(on_display);
  std::optional<code_result> result;
  std::exception_ptr failure;
  auto run = [&]() -> awaitable<void> {
    try {
      code_result ended = co_await runner.run_code(std::move(request));
      queue.push_rest(output_stream::out, ended.out());
      queue.push_rest(output_stream::err, ended.err());
      result.emplace(std::move(ended));
    } catch (...) {
      failure = std::current_exception();
    }
    queue.finish();
  };
  bool is_read = false;
  auto pass_on = [&]() -> awaitable<void> { is_read = co_await queue.write_all(); };
  helpers beside(executor);
  beside.start(run());
  co_await beside.run_beside(pass_on());  // at its end, the code is ended if it still runs
  if (!is_read) co_return std::nullopt;
  if (failure) std::rethrow_exception(failure);
  co_return result;
}

boost::json::object object_of(const code_result& result, int status) {
  boost::json::object object;
  add_end(object, status, result.kind(), result.exit_code(), result.term_signal(), result.reason());
  object["value"] = nullptr;
  object["value_text"] = nullptr;
  if (result.value()) {
    object["value"] = *result.value();
    object["value_text"] = result.value_text();
  }
  object["exception"] = nullptr;
  if (result.failure()) {
    boost::json::object failure;
    failure["type"] = result.failure()->type();
    failure["message"] = result.failure()->message();
    failure["line"] = result.failure()->line();
    failure["traceback"] = result.failure()->traceback();
    object["exception"] = std::move(failure);
  }
  add_output(object, result.out(), result.err());
  boost::json::array displays;
  for (const display_output& shown : result.displays()) {
    boost::json::object forms;
    for (const auto& [type, content] : shown.forms()) forms[type] = content;
    displays.push_back(std::move(forms));
  }
  object["displays"] = std::move(displays);
  boost::json::array files;
  for (const generated_file& file : result.files()) {
    boost::json::object entry;
    entry["path"] = valid_text(file.path());
    entry["size"] = file.size();
    entry["new"] = file.is_new();
    files.push_back(std::move(entry));
  }
  object["files"] = std::move(files);
  object["duration_ms"] = std::chrono::duration_cast<std::chrono::milliseconds>(result.duration()).count();
  add_isolation(object, result.kind(), result.isolation());
  return object;
}

/// Runs the code in an open runner, and then `copy_files`. Returns the exit status of the program.
template <class CopyFiles>
awaitable<int> run_in(any_runner& runner, const python_options& options, const std::string& source,
                      CopyFiles& copy_files) {
  code_request request = request_of(options, source);
  std::optional<code_result> result;
  if (options.json) {
    code_result ended = co_await runner.run_code(std::move(request));
    result.emplace(std::move(ended));
  } else {
    std::optional<code_result> ended = co_await run_streamed(runner, std::move(request));
    if (!ended) co_return status_of_signal + SIGPIPE;
    result = std::move(ended);
  }
  const saved_files saved = co_await copy_files();
  int status = status_of(result->kind(), result->exit_code(), result->term_signal(), std::error_code());
  status = status_with(status, saved);
  if (options.json) {
    boost::json::object object = object_of(*result, status);
    add_saved(object, saved);
    print(object);
  } else {
    complain_about(result->kind(), result->reason(), std::string());
    complain_about(saved);
  }
  co_return status;
}

/// Shows that packages are installed, until it is cancelled.
awaitable<void> show_installation(progress& shown, const std::vector<std::string>& packages) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto begin = std::chrono::steady_clock::now();
  std::string name = "installing";
  for (const std::string& package : packages) name += " " + package;
  asio::steady_timer pause(executor);
  for (;;) {
    const auto time = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    shown.show(name + ", " + std::to_string(time.count()) + " s");
    pause.expires_after(std::chrono::milliseconds(200));
    co_await pause.async_wait(asio::use_awaitable);
  }
}

/// Opens a runner in the environment, with its packages, and runs the code.
awaitable<int> run_inside(const python_options& options, const std::string& source, progress& shown,
                          any_environment& inside) {
  shown.clear();
  co_await copy_in(inside, options.work.inputs, shown);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  helpers beside(executor);
  if (!options.packages.empty() && shown.is_shown()) beside.start(show_installation(shown, options.packages));
  int status = status_own_failure;
  const auto copies = [&]() -> awaitable<saved_files> { return copy_out(inside, options.work.outputs, shown); };
  auto work = [&]() -> awaitable<void> {
    any_runner_provider recipe = make_python(inside, options);
    status = co_await with(std::move(recipe), [&](any_runner& runner) -> awaitable<int> {
      co_await beside.stop();
      shown.clear();
      const int ended = co_await run_in(runner, options, source, copies);
      co_return ended;
    });
  };
  co_await beside.run_beside(work());
  co_return status;
}

awaitable<int> run_pyodide(const python_options& options, const std::string& source) {
  const auto copies_nothing = []() -> awaitable<saved_files> { co_return saved_files(); };
  any_runner_provider recipe = make_pyodide(options.work.place, options.guards);
  const int status = co_await with(std::move(recipe), [&](any_runner& runner) -> awaitable<int> {
    return run_in(runner, options, source, copies_nothing);
  });
  co_return status;
}

awaitable<int> run_all(python_options options, std::string source) {
  check_guards(options.guards);
  if (options.work.place.provider == "pyodide") {
    if (!options.work.inputs.empty() || !options.work.outputs.empty())
      refuse("pyodide supports neither --input nor --output; use --workspace");
    if (!options.packages.empty()) refuse("pyodide does not support --package");
    const int status = co_await run_pyodide(options, source);
    co_return status;
  }
  progress shown(options.work.quiet || options.json);
  any_provider place = make_place(options.work.place, &shown);
  const int status = co_await with(std::move(place), [&](any_environment& inside) -> awaitable<int> {
    return run_inside(options, source, shown, inside);
  });
  co_return status;
}

}  // namespace

int run_python(std::vector<std::string> words) {
  const std::optional<python_options> options = parse_python(std::move(words));
  if (!options) return 0;
  const std::string source = options->code ? *options->code : read_code(options->words.front());
  session used;
  try {
    return used.run(run_all(*options, source));
  } catch (const usage_error&) {
    throw;
  } catch (const std::exception& failure) {
    if (!options->json) throw;
    print(failure_object(failure.what()));
    return status_own_failure;
  }
}

}  // namespace program
