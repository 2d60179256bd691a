// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/output_collector.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {
class http_client;
class http_exchange;
class http_limits;
}  // namespace detail

class http_request;

}  // namespace cofferdam::inline COFFERDAM_ABI

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// Limits on the output and results that are kept of one run.
class execution_limits {
 public:
  execution_limits() = default;
  /// Sets both limits, in bytes.
  execution_limits(std::size_t output, std::size_t results) noexcept : output_(output), results_(results) {}
  /// Returns the maximum number of bytes that are kept of each output stream. Default: 1 MiB.
  std::size_t output() const noexcept { return output_; }
  /// Returns the maximum number of bytes of all results together. Default: 64 MiB. Results beyond this limit are
  /// counted, but not kept.
  std::size_t results() const noexcept { return results_; }

 private:
  std::size_t output_ = command::default_kept_output;
  std::size_t results_ = std::size_t{64} * 1024 * 1024;
};

/// A value that code has displayed, such as the value of the last expression, a chart or a table, in one or several
/// forms.
class rich_output {
 public:
  rich_output() = default;
  /// \param line  a JSON object of the type `result` from the report of a run; see `execution_reader`.
  explicit rich_output(const boost::json::object& line);

  /// Returns true if this is the value of the last expression, and false if the code called a display function.
  bool is_value() const noexcept { return is_value_; }
  /// Returns the forms by name: `text`, `html`, `markdown`, `svg`, `png`, `jpeg`, `pdf`, `latex`, `json`, `javascript`,
  /// `data`, `chart`. `png`, `jpeg` and `pdf` are base64. A form that the service does not send as a text is JSON.
  const std::map<std::string, std::string>& forms() const noexcept { return forms_; }
  /// Returns the form with this name; empty if the value has no such form.
  std::string_view form(const std::string& name) const noexcept {
    const auto found = forms_.find(name);
    return found == forms_.end() ? std::string_view() : std::string_view(found->second);
  }

 private:
  std::map<std::string, std::string> forms_;
  bool is_value_ = false;
};

/// An uncaught exception that ended the code.
class code_error {
 public:
  /// Makes the description of an exception; the parameters are the values that the functions of the same name return.
  code_error(std::string name, std::string value, std::string traceback)
      : name_(std::move(name)), value_(std::move(value)), traceback_(std::move(traceback)) {}

  /// Returns the class of the exception: `ValueError`.
  const std::string& name() const noexcept { return name_; }
  /// Returns the message of the exception.
  const std::string& value() const noexcept { return value_; }
  /// Returns the lines of the traceback, possibly with colour codes for terminals.
  const std::string& traceback() const noexcept { return traceback_; }

 private:
  std::string name_;
  std::string value_;
  std::string traceback_;
};

/// The result of one run of code. A value type.
class execution {
 public:
  execution() = default;

  /// Returns true if the code ran to its end without an uncaught exception.
  bool ok() const noexcept { return !failure_ && !timed_out_; }
  /// Returns the kept part of standard output.
  const captured_output& out() const noexcept { return out_; }
  /// Returns the kept part of standard error.
  const captured_output& err() const noexcept { return err_; }
  /// Returns the displayed values in the order of their display, including the value of the last expression.
  const std::vector<rich_output>& results() const noexcept { return results_; }
  /// Returns the number of results that were not kept because of the limits.
  std::size_t dropped() const noexcept { return dropped_; }
  /// Returns the value of the last expression as a text; empty if there is no such value.
  std::string_view value() const noexcept {
    for (const rich_output& result : results_)
      if (result.is_value()) return result.form("text");
    return {};
  }
  /// Returns the uncaught exception that ended the code; no value if there was none.
  const std::optional<code_error>& failure() const noexcept { return failure_; }
  /// Returns true if the code was interrupted at its time limit.
  bool timed_out() const noexcept { return timed_out_; }
  /// Returns the number of runs in the context so far, including this one; 0 if the service does not send it.
  std::int64_t number() const noexcept { return number_; }
  /// Returns the time from the request to the end of the report.
  std::chrono::nanoseconds duration() const noexcept { return duration_; }

 private:
  friend class execution_reader;

  captured_output out_;
  captured_output err_;
  std::vector<rich_output> results_;
  std::size_t dropped_ = 0;
  std::optional<code_error> failure_;
  bool timed_out_ = false;
  std::int64_t number_ = 0;
  std::chrono::nanoseconds duration_{};
};

/// A parser of the report that the code interpreter sends about a run. The report has one JSON object in each line. The
/// parser does no I/O. The input may be split at any byte.
/// \par Source  E2B's code interpreter SDK.
class execution_reader {
 public:
  /// \param limits  the limits on what the parser keeps.
  explicit execution_reader(const execution_limits& limits = execution_limits())
      : limits_(limits), out_(limits.output()), err_(limits.output()) {}

  /// Parses the next part of the report.
  /// \throws error{exec_errc::io_error} with net_errc::malformed if a line is not a JSON object.
  /// \throws error{exec_errc::too_large} if a line is longer than the limit of all results plus 1 MiB.
  void feed(std::string_view text);

  /// Returns true if the report of the run is complete, or `time_out` was called.
  bool ended() const noexcept { return ended_; }
  /// Marks the run as ended by its time limit.
  void time_out() noexcept { ended_ = made_.timed_out_ = true; }

  /// Returns the result.
  /// \param took  the duration of the run.
  execution take(std::chrono::nanoseconds took) {
    made_.out_ = out_.take();
    made_.err_ = err_.take();
    made_.duration_ = took;
    return std::move(made_);
  }

 private:
  using error = cofferdam::error;
  static constexpr std::size_t slack = std::size_t{1024} * 1024;

  void take_line();

  execution_limits limits_;
  cofferdam::detail::output_collector out_;
  cofferdam::detail::output_collector err_;
  std::string line_;
  std::size_t kept_ = 0;
  execution made_;
  bool ended_ = false;
};

/// A context of the code interpreter: it runs code of one language, and keeps the code's variables and functions from
/// run to run.
class code_context {
 public:
  code_context() = default;
  /// Refers to an existing context of the service.
  code_context(std::string id, std::string language, std::string directory)
      : id_(std::move(id)), language_(std::move(language)), directory_(std::move(directory)) {}
  /// Returns the id of the context, chosen by the service.
  const std::string& id() const noexcept { return id_; }
  /// Returns the language of the code that the context runs.
  const std::string& language() const noexcept { return language_; }
  /// Returns the working directory of the context.
  const std::string& directory() const noexcept { return directory_; }

 private:
  std::string id_;
  std::string language_;
  std::string directory_;
};

/// A piece of code and the settings for its run: `code("1 + 1").timeout(10s)`.
class code {
 public:
  /// \param source  the code, UTF-8.
  explicit code(std::string source) : source_(std::move(source)) {}

  /// Sets the context in which the code runs. Default: the default context of the service, which all clients of the
  /// sandbox share.
  /// \throws error{exec_errc::invalid_argument} if a language is set, because the context has one.
  code& in(const code_context& where);
  /// Runs the code in the default context of this language: python, javascript, typescript, r, java or bash.
  /// \throws error{exec_errc::invalid_argument} if a context is set.
  code& language(std::string name);
  /// Sets an environment variable for the run.
  code& variable(std::string name, std::string value);
  /// Sets the time after which the code is interrupted. More than zero, or `no_timeout`. Default: 5 minutes.
  code& timeout(std::chrono::milliseconds limit);
  /// Sets the maximum number of bytes that are kept of each output stream, and of all results together. Defaults: 1 MiB
  /// and 64 MiB.
  code& keep(std::size_t output, std::size_t results);

  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  /// Returns the limits that `keep` sets.
  const execution_limits& limits() const noexcept { return limits_; }

  /// Returns the JSON body of the `/execute` request.
  /// \par Source  E2B's code interpreter SDK.
  boost::json::object body() const;

 private:
  void require_one_place() const;

  std::string source_;
  std::string context_;
  std::string language_;
  std::map<std::string, std::string> variables_;
  std::chrono::milliseconds timeout_{std::chrono::minutes(5)};
  execution_limits limits_;
};

/// A client of E2B's code interpreter, a service in sandboxes of certain templates, such as `code-interpreter-v1`. Each
/// context keeps variables and functions from run to run, as in a notebook, and runs one piece of code at a time.
///
///     e2b::environment env = co_await e2b::from_template("code-interpreter-v1").open();
///     e2b::code_interpreter python(env);
///     e2b::execution done = co_await python.run(e2b::code("[i * i for i in range(5)]"));
///
/// \par Errors        every function throws the errors of the environment's functions, and
///                    error{exec_errc::unsupported} if the sandbox has no code interpreter.
/// \par Lifetime      must not outlive its environment. `close()` of the environment ends all runs.
/// \par Cancellation  terminal. The code is interrupted, and the function throws error{exec_errc::cancelled}.
/// \par Threads       may be used from several threads.
/// \par Source        E2B's code interpreter SDK.
class code_interpreter {
 public:
  /// The port of the service in the sandbox.
  static constexpr std::uint16_t port = 49999;

  /// \param in  an open environment, which the caller keeps open.
  explicit code_interpreter(environment& in);

  /// Runs code to its end. Every outcome of the code is a result, including an uncaught exception and the time limit.
  awaitable<execution> run(code what);

  /// Creates a context.
  /// \param language   the language of the context's code. Empty means python.
  /// \param directory  the initial working directory of the context's code, relative to the workspace. Default: the
  ///                   workspace.
  awaitable<code_context> make_context(std::string language = {}, std::string directory = ".");
  /// Returns all contexts of the sandbox.
  awaitable<std::vector<code_context>> contexts();
  /// Restarts a context, so that its variables and functions are lost.
  /// \throws error{exec_errc::not_found} if there is no such context.
  awaitable<void> restart(code_context which);
  /// Removes a context.
  /// \throws error{exec_errc::not_found} if there is no such context.
  awaitable<void> remove(code_context which);

 private:
  using shared = std::shared_ptr<detail::sandbox>;
  using client = std::shared_ptr<cofferdam::detail::http_client>;
  static constexpr std::size_t max_answer = std::size_t{1024} * 1024;
  // The service sends a keep-alive message every 5 s. If nothing arrives for longer than this, the run has failed.
  static constexpr std::chrono::seconds silence{30};
  static constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365);

  http_request request(std::string method, std::string_view path) const;

  /// Sends a request, and throws an error unless the status of the response is 200.
  static awaitable<cofferdam::detail::http_exchange> ask(shared inside, client by, redactor redact, http_request what,
                                                         const char* doing, cofferdam::detail::http_limits limits);

  static cofferdam::detail::http_limits usual(const shared& inside);

  /// A run that is under way. It is held by shared pointers, because the coroutine that awaits the run may be destroyed
  /// before the run ends.
  class timed_run {
   public:
    timed_run(const asio::any_io_executor& executor, const execution_limits& limits)
        : reader(limits), limit(executor), changed(executor) {}
    void end(std::exception_ptr why);
    void cancel();

    execution_reader reader;
    asio::steady_timer limit;
    cofferdam::detail::async_event changed;
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    bool reads = true;
    bool has_read = false;  // true: `read` has ended, so `stop` must not be emitted any more
    bool expired = false;
  };

  static awaitable<execution> execute(shared inside, client by, redactor redact, http_request what, code source);

  static awaitable<void> read(shared inside, client by, redactor redact, http_request what,
                              std::shared_ptr<timed_run> current_run);

  static awaitable<code_context> made_context(shared inside, client by, redactor redact, http_request what);

  static awaitable<std::vector<code_context>> list(shared inside, client by, redactor redact, http_request what);

  static awaitable<void> done(shared inside, client by, redactor redact, http_request what, const char* doing);

  static code_context context_of(const boost::json::object& object);

  shared inside_;
  client client_;
  redactor redact_;
  std::string prefix_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/backends/e2b/impl/code_interpreter.ipp>
#endif
