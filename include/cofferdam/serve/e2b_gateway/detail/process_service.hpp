// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/serve/e2b_gateway/detail/guest_files.hpp>
#include <cofferdam/serve/e2b_gateway/detail/rpc.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_process.hpp>
#include <cofferdam/serve/e2b_gateway/detail/served_sandbox.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The service `process.Process` of envd, E2B's daemon in a sandbox. It starts processes and connects clients to them.
/// \par Source  envd's process.proto.
class process_service {
 public:
  explicit process_service(rpc_call& rpc) noexcept : rpc_(rpc), sandbox_(*rpc.sandbox()) {}

  static bool is_stream(std::string_view method) noexcept {
    return method == "Start" || method == "Connect" || method == "StreamInput";
  }
  static bool is_unary(std::string_view method) noexcept {
    return method == "List" || method == "SendInput" || method == "SendSignal" || method == "Update" ||
           method == "CloseStdin";
  }

  awaitable<boost::json::object> unary(std::string method) {
    if (method == "List") {
      co_await rpc_.take_listing();
      co_return list();
    }
    const message_fields fields(rpc_.message());
    const std::shared_ptr<served_process> target = find(fields.object("process"));
    if (method == "SendInput") {
      co_await give_input(target, fields.object("input"));
    } else if (method == "SendSignal") {
      const int number = signal_of(fields.find("signal"));
      co_await served_process::signal(target, number);
      // A client that kills a process twice learns the second time that there is none.
      constexpr std::chrono::seconds patience{1};
      if (number == SIGKILL) co_await served_process::until_over(target, steady_clock::now() + patience);
    } else if (method == "Update") {
      if (const boost::json::object* const terminal = fields.object("pty")) {
        if (!target->has_terminal())
          throw rpc_failure(cofferdam::detail::connect_code::internal,
                            "error resizing tty: tty not assigned to process");
        const terminal_size size = size_of(*terminal);
        co_await served_process::resize(target, size.rows(), size.columns());
      }
    } else {
      if (target->has_terminal())
        throw rpc_failure(cofferdam::detail::connect_code::unknown, "cannot close stdin for a tty process");
      if (target->over()) throw not_found(target->pid());
      co_await served_process::close_input(target);
    }
    co_return boost::json::object();
  }

  awaitable<void> stream(std::string method) {
    if (method == "StreamInput") {
      co_await take_input();
    } else {
      co_await rpc_.read_only_envelope();
      if (method == "Start") {
        co_await start();
      } else {
        co_await connect();
      }
    }
  }

 private:
  /// The maximum size of a tag in bytes. A tag stays in memory as long as its process runs, and every list of processes
  /// repeats it.
  static constexpr std::size_t max_tag = 1024;

  static rpc_failure not_found(std::uint32_t pid) {
    return {cofferdam::detail::connect_code::not_found, "process with pid " + std::to_string(pid) + " not found"};
  }

  std::shared_ptr<served_process> find(const boost::json::object* selector) {
    if (selector != nullptr) {
      const message_fields fields(*selector);
      if (const auto pid = fields.number("pid")) {
        std::shared_ptr<served_process> found = sandbox_.find_process(*pid);
        if (!found) throw not_found(*pid);
        return found;
      }
      if (const auto tag = fields.text("tag")) {
        std::shared_ptr<served_process> found = sandbox_.find_process(*tag);
        if (!found)
          throw rpc_failure(cofferdam::detail::connect_code::not_found,
                            "process with tag " + one_line(tag->substr(0, max_tag)) + " not found");
        return found;
      }
    }
    throw rpc_failure(cofferdam::detail::connect_code::unimplemented, "invalid process selector");
  }

  boost::json::object list() const {
    boost::json::array listed;
    for (const auto& [pid, served] : sandbox_.processes()) {
      boost::json::object described;
      described["config"] = served->config();
      described["pid"] = pid;
      if (!served->tag().empty()) described["tag"] = valid_json_text(served->tag());
      listed.push_back(std::move(described));
    }
    boost::json::object answer;
    if (!listed.empty()) answer["processes"] = std::move(listed);
    return answer;
  }

  static int signal_of(const boost::json::value* given) {
    if (given != nullptr && given->is_string()) {
      if (given->get_string() == "SIGNAL_SIGKILL") return SIGKILL;
      if (given->get_string() == "SIGNAL_SIGTERM") return SIGTERM;
    }
    if (given != nullptr && given->is_int64()) {
      if (given->get_int64() == SIGKILL) return SIGKILL;
      if (given->get_int64() == SIGTERM) return SIGTERM;
    }
    throw rpc_failure(cofferdam::detail::connect_code::unimplemented, "invalid signal: SIGNAL_UNSPECIFIED");
  }

  static terminal_size size_of(const boost::json::object& terminal) {
    const boost::json::object* const size = message_fields(terminal).object("size");
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    if (size != nullptr) {
      const message_fields fields(*size);
      rows = fields.number("rows").value_or(0);
      columns = fields.number("cols").value_or(0);
    }
    constexpr std::uint32_t limit = std::numeric_limits<std::uint16_t>::max();
    if (rows == 0 || columns == 0 || rows > limit || columns > limit)
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "a terminal must have 1 to 65535 rows and columns");
    return {static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(columns)};
  }

  awaitable<void> give_input(std::shared_ptr<served_process> served, const boost::json::object* input) {
    std::optional<bytes> typed;
    std::optional<bytes> data;
    if (input != nullptr) {
      const message_fields fields(*input);
      data = fields.data("stdin");
      typed = fields.data("pty");
    }
    if (!typed && !data) throw rpc_failure(cofferdam::detail::connect_code::unimplemented, "invalid input type <nil>");
    if (data && served->has_terminal())
      throw rpc_failure(cofferdam::detail::connect_code::internal,
                        "error writing to stdin: tty assigned to process — input should be written to the "
                        "pty, not the stdin");
    if (typed && !served->has_terminal())
      throw rpc_failure(cofferdam::detail::connect_code::internal, "error writing to tty: tty not assigned to process");
    if (!served->has_input() || served->over())
      throw rpc_failure(cofferdam::detail::connect_code::internal,
                        "error writing to stdin: stdin not enabled or closed");
    if (typed) data = std::move(typed);
    // Input that waits for its process counts against a limit of the sandbox. The memory of the request is released
    // below.
    if (sandbox_.waiting_input + data->size() > 2 * rpc_.core()->options().message())
      throw rpc_failure(cofferdam::detail::connect_code::resource_exhausted,
                        "processes of the sandbox have not yet read their earlier input; try again later");
    const waiting mine(sandbox_, data->size());
    rpc_.forget();
    std::optional<std::string> failed;
    try {
      co_await served_process::write(served, std::move(*data));
    } catch (const error& failure) {
      if (failure.code() != exec_errc::io_error && failure.code() != exec_errc::unsupported) throw;
      failed = failure.what();
    }
    if (failed) throw rpc_failure(cofferdam::detail::connect_code::internal, "error writing to stdin: " + *failed);
  }

  class waiting {
   public:
    waiting(served_sandbox& sandbox, std::size_t size) noexcept : sandbox_(sandbox), size_(size) {
      sandbox_.waiting_input += size_;
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() { sandbox_.waiting_input -= size_; }

   private:
    served_sandbox& sandbox_;
    std::size_t size_;
  };

  // ---- the call Start ----
  /// Converts the message of a start request to a command.
  /// \throws rpc_failure or error if the message is invalid.
  /// \param directory  the absolute path of the directory in which the command starts, if it is not in the workspace;
  ///                   otherwise empty.
  /// \param user       the name of the user; empty if it is not known.
  command make_command(const message_fields& fields, const message_fields& config, const std::string& directory,
                       const std::string& user) const {
    std::vector<std::string> words;
    // The environment accepts only directories in the workspace, so a shell enters any other one.
    if (!directory.empty()) words = {"/bin/sh", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", directory};
    words.push_back(config.text("cmd").value_or(std::string()));
    if (words.back().empty())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "process.cmd is empty");
    if (const boost::json::value* const args = config.find("args")) {
      if (!args->is_array())
        throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "unmarshal message: args is not a list");
      for (const boost::json::value& argument : args->get_array()) {
        if (!argument.is_string())
          throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                            "unmarshal message: an argument is not a string");
        words.emplace_back(argument.get_string().data(), argument.get_string().size());
      }
    }
    command prepared = argv(std::move(words));
    prepared.timeout(no_timeout).keep_output(0);
    if (!user.empty()) prepared.variable("USER", user).variable("LOGNAME", user);
    // Debian's pip refuses to install for a user, because it protects the packages of the machine. Walls do that here.
    if (sandbox_.is_known_walled()) prepared.variable("PIP_BREAK_SYSTEM_PACKAGES", "1");
    prepared.variable("E2B_SANDBOX", "true").variable("E2B_SANDBOX_ID", sandbox_.settings().id);
    prepared.variable("E2B_TEMPLATE_ID", sandbox_.settings().template_name);
    for (const auto& [name, value] : sandbox_.settings().variables) prepared.variable(name, value);
    if (const boost::json::object* const variables = config.object("envs")) {
      for (const auto& [name, value] : *variables) {
        if (!value.is_string())
          throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                            "unmarshal message: a variable is not a string");
        prepared.variable(std::string(name.data(), name.size()),
                          std::string(value.get_string().data(), value.get_string().size()));
      }
    }
    if (const boost::json::object* const terminal = fields.object("pty")) {
      const terminal_size size = size_of(*terminal);
      prepared.terminal(size.rows(), size.columns()).open_input();
    } else if (fields.boolean("stdin").value_or(true)) {
      prepared.open_input();
    }
    return prepared;
  }

  /// Returns the directory to which a path in the workspace leads, in the form of `guest_paths::locate`.
  /// \param given   the path as the client has written it.
  /// \throws rpc_failure if there is no such directory.
  awaitable<std::string> find_directory(std::string given, std::string inside) {
    bool is_link = false;
    std::optional<std::string> place;
    try {
      const directory_entry found = co_await sandbox_.environment().files().stat(inside);
      is_link = found.type() == file_type::symlink;
      if (found.is_directory()) place = inside;
    } catch (const error& failure) {
      is_link = failure.code() == exec_errc::outside_workspace;
      if (!is_link && failure.code() != exec_errc::not_found && failure.code() != exec_errc::not_a_directory) throw;
    }
    guest_files files(sandbox_);
    if (is_link) place = co_await files.directory_behind(inside);
    if (!place)
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "cwd '" + one_line(given) + "' does not exist");
    co_return std::move(*place);
  }

  /// Checks that a command can change to a directory that is not in the workspace.
  /// \param given   the path as the client has written it.
  /// \param place   the absolute path.
  /// \throws rpc_failure if a command cannot change to it.
  awaitable<void> enter_directory(std::string given, std::string place) {
    command enter = argv("/bin/sh", "-c", "cd \"$1\"", "sh", std::move(place));
    const command_result result = co_await sandbox_.environment().run_command(std::move(enter));
    if (result.ok()) co_return;
    const std::string name = "cwd '" + one_line(given) + "'";
    if (result.kind() != error_kind::none)
      throw rpc_failure(cofferdam::detail::connect_code::permission_denied, name + ": " + result.reason());
    if (result.err().text().find("ermission denied") != std::string::npos)
      throw rpc_failure(cofferdam::detail::connect_code::permission_denied, name + ": permission denied");
    throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, name + " does not exist");
  }

  /// While a process is being started, counts it in `served_sandbox::starting`, for the limit of processes. The
  /// destructor ends the counting.
  class starting {
   public:
    explicit starting(served_sandbox& sandbox) noexcept : sandbox_(sandbox) { ++sandbox_.starting; }
    starting(const starting&) = delete;
    starting& operator=(const starting&) = delete;
    ~starting() { --sandbox_.starting; }

   private:
    served_sandbox& sandbox_;
  };

  awaitable<process> run(command prepared) {
    const background_policy policy = rpc_.core()->options().background();
    if (policy == background_policy::keep && sandbox_.keeps_background) {
      try {
        command keeping = prepared;
        keeping.background(background_policy::keep);
        process running = co_await sandbox_.environment().start(std::move(keeping));
        co_return running;
      } catch (const error& failure) {
        if (failure.code() != exec_errc::unsupported) throw;
        sandbox_.keeps_background = false;
      }
    }
    process running = co_await sandbox_.environment().start(std::move(prepared));
    co_return running;
  }

  awaitable<void> start() {
    const message_fields fields(rpc_.message());
    const boost::json::object* const config = fields.object("process");
    if (config == nullptr) throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "process is missing");
    const message_fields config_fields(*config);
    if (!sandbox_.environment().can_start())
      throw rpc_failure(cofferdam::detail::connect_code::unimplemented,
                        "the backend of this gateway cannot stream the output of processes");
    if (sandbox_.processes().size() + sandbox_.starting >= rpc_.core()->options().processes())
      throw rpc_failure(
          cofferdam::detail::connect_code::resource_exhausted,
          "the sandbox has " + std::to_string(sandbox_.processes().size()) + " processes, the maximum of this gateway");
    std::string tag = fields.text("tag").value_or(std::string());
    if (tag.size() > max_tag)
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument,
                        "the tag is longer than " + std::to_string(max_tag) + " bytes");
    const starting place(sandbox_);
    const std::string directory = config_fields.text("cwd").value_or(std::string());
    std::string where = ".";
    if (!directory.empty()) where = sandbox_.paths().locate(directory);
    if (!directory.empty() && !where.starts_with('/')) where = co_await find_directory(directory, where);
    std::string elsewhere;
    if (where.starts_with('/')) elsewhere = where;
    const std::string user = co_await served_sandbox::user_name(sandbox_);
    command prepared = make_command(fields, config_fields, elsewhere, user);
    if (!elsewhere.empty()) {
      co_await enter_directory(directory, elsewhere);
    } else if (!directory.empty()) {
      prepared.working_directory(std::move(where));
    }
    const bool has_terminal = prepared.terminal().has_value();
    const bool has_input = prepared.has_open_input();
    boost::json::object shown = described(*config);
    rpc_.forget();
    process running = co_await run(std::move(prepared));
    if (sandbox_.now() == served_sandbox::state::ended)
      throw error(exec_errc::environment_closed, "start: the sandbox has ended");
    const auto served = std::make_shared<served_process>(sandbox_.executor(), std::move(running), sandbox_.next_pid(),
                                                         std::move(shown), std::move(tag), has_terminal, has_input);
    served_process::listener mine(served, sandbox_.executor());
    sandbox_.add(served);
    if (rpc_.due()) sandbox_.tasks().spawn(served_process::kill_at(served, *rpc_.due()));
    co_await send(*served, mine);
  }

  /// Returns the members of the request's `ProcessConfig` that a list of processes shows. They stay in memory as long
  /// as the process runs, so members beyond 16 KiB in total are left out.
  static boost::json::object described(const boost::json::object& config) {
    constexpr std::size_t max_bytes = std::size_t{16} * 1024;
    boost::json::object shown;
    std::size_t size = 0;
    for (const char* const name : {"cmd", "cwd", "args", "envs"}) {
      const boost::json::value* const found = config.if_contains(name);
      if (found == nullptr) continue;
      size += boost::json::serialize(*found).size();
      if (size <= max_bytes) shown[name] = *found;
    }
    return shown;
  }

  // ---- the call Connect ----
  awaitable<void> connect() {
    const boost::json::object* const selector = message_fields(rpc_.message()).object("process");
    std::shared_ptr<served_process> served;
    if (selector != nullptr)
      if (const auto pid = message_fields(*selector).number("pid")) served = sandbox_.find_ended(*pid);
    if (!served) served = find(selector);
    rpc_.forget();
    if (served->listeners() >= rpc_.core()->options().subscribers())
      throw rpc_failure(cofferdam::detail::connect_code::resource_exhausted,
                        "the process has the maximum number of listening streams of this gateway");
    served_process::listener mine(served, sandbox_.executor());
    co_await send(*served, mine);
  }

  awaitable<void> send(served_process& served, served_process::listener& mine) {
    http_call& call = rpc_.call();
    co_await rpc_.begin_stream();
    const std::string first = served.start_message();
    co_await call.write(first);
    const auto far = steady_clock::time_point::max();
    const steady_clock::time_point due = rpc_.due().value_or(far);
    steady_clock::time_point ping = steady_clock::now() + rpc_.keepalive();
    for (;;) {
      co_await mine.wait(std::min(due, ping));
      if (const encoded_message message = mine.take()) {
        co_await call.write(*message);
        ping = steady_clock::now() + rpc_.keepalive();
      } else if (served.over()) {
        break;
      } else if (steady_clock::now() >= due) {
        co_await rpc_.end_stream(cofferdam::detail::connect_code::deadline_exceeded, "context deadline exceeded");
        co_return;
      } else if (steady_clock::now() >= ping) {
        const std::string alive = served_process::event_message("keepalive", boost::json::object());
        co_await call.write(alive);
        ping = steady_clock::now() + rpc_.keepalive();
      }
    }
    if (!served.end()) throw error(exec_errc::environment_closed, "the sandbox has ended");
    if (served.timed_out() && steady_clock::now() >= due) {
      co_await rpc_.end_stream(cofferdam::detail::connect_code::deadline_exceeded, "context deadline exceeded");
    } else {
      co_await call.write(*served.end());
      co_await rpc_.end_stream();
    }
  }

  // ---- the call StreamInput ----
  awaitable<void> take_input() {
    // A stream may last long. So it does not use the memory that all requests share, and each of its messages has at
    // most 1 MiB.
    constexpr std::size_t max_bytes = std::size_t{1024} * 1024;
    cofferdam::detail::connect_envelope_reader reader(std::min(max_bytes, rpc_.core()->options().message()));
    rpc_.call().body_limit(std::nullopt);
    std::array<std::byte, 16 * 1024> piece;
    std::shared_ptr<served_process> served;
    for (;;) {
      const std::size_t count = co_await rpc_.call().read_some(piece);
      if (count == 0) break;
      std::string_view rest = as_text(bytes_view(piece).first(count));
      for (;;) {
        const std::optional<cofferdam::detail::connect_envelope> envelope = rpc_call::next_of(reader, rest);
        if (!envelope) break;
        rpc_.parse(envelope->payload());
        const message_fields fields(rpc_.message());
        if (const boost::json::object* const begun = fields.object("start")) {
          served = find(message_fields(*begun).object("process"));
        } else if (const boost::json::object* const given = fields.object("data")) {
          if (!served)
            throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "the first message must be start");
          co_await give_input(served, message_fields(*given).object("input"));
        }
      }
    }
    if (!reader.may_end())
      throw rpc_failure(cofferdam::detail::connect_code::invalid_argument, "protocol error: incomplete envelope");
    co_await rpc_.begin_stream();
    const std::string answer = cofferdam::detail::connect_message("{}");
    co_await rpc_.call().write(answer);
    co_await rpc_.end_stream();
  }

  rpc_call& rpc_;
  served_sandbox& sandbox_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
