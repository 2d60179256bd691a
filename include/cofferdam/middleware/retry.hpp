// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/callable_argument.hpp>
#include <cofferdam/detail/core/kept_files.hpp>
#include <cofferdam/middleware/detail/retry_policy.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
class basic_retried_files;
using retried_files = basic_retried_files<>;

/// File operations that repeat those which change nothing.
template <class Unused>
class basic_retried_files final : public file_system_adaptor<basic_retried_files<Unused>> {
 public:
  basic_retried_files(file_system files, std::shared_ptr<const retry_policy> policy)
      : files_(std::move(files)), policy_(std::move(policy)) {}

  template <class Operation>
  std::invoke_result_t<Operation&, const file_system&> call(Operation operation) {
    if constexpr (Operation::changes) {
      return operation(std::as_const(files_));
    } else {
      auto attempt = [files = files_, operation = std::move(operation)] { return operation(files); };
      return repeated(policy_, retried_work::operation, std::move(attempt));
    }
  }

 private:
  file_system files_;
  std::shared_ptr<const retry_policy> policy_;
};

}  // namespace detail

/// The environment type that `provider | retry()` opens.
template <code_exec_environment Inner>
class retry_layer : public layer<retry_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  retry_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns.
  retry_layer(Inner inner, std::shared_ptr<const detail::retry_policy> policy)
      : layer<retry_layer<Inner>, Inner>(std::move(inner)), policy_(std::move(policy)) {}

  awaitable<command_result> run_command(command c) {
    if (!policy().repeats(c)) return this->inner().run_command(std::move(c));
    return again([this, c = std::move(c)] { return this->inner().run_command(c); });
  }
  awaitable<process> start(command c)
    requires streaming_environment<Inner>
  {
    if (!policy().repeats(c)) return this->inner().start(std::move(c));
    return again([this, c = std::move(c)] { return this->inner().start(c); });
  }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    policy();
    return again([this, path = std::move(path), max_bytes] { return this->inner().read_file(path, max_bytes); });
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return this->inner().write_file(std::move(path), content);
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }
  file_system files()
    requires file_environment<Inner>
  {
    policy();
    return kept_.get([this] { return std::make_shared<detail::retried_files>(this->inner().files(), policy_); });
  }

 private:
  const detail::retry_policy& policy() const {
    if (!policy_)
      throw error(exec_errc::environment_closed,
                  "retry: not open (default-constructed or moved from); call open() on the provider first");
    return *policy_;
  }

  template <class Attempt>
  std::invoke_result_t<Attempt&> again(Attempt attempt) const {
    return detail::repeated(policy_, detail::retried_work::operation, std::move(attempt));
  }

  std::shared_ptr<const detail::retry_policy> policy_;
  detail::kept_files kept_;
};

/// Repeats what failed for a passing reason and is safe to repeat: `provider | retry()`.
///
/// These are repeated: opening an environment, `read_file`, and `stat`, `list`, and the beginnings of `get_files` and
/// `watch` of `files()`. Whatever changes files is not repeated. A command is repeated only if you declare that running
/// it twice does no harm, by `commands` or `commands_if`: a command whose connection was lost may have run. With
/// `start`, only the start is repeated. The outcome of a command, such as its exit status, is a result and is never
/// repeated.
///
///     auto provider = docker::from_image("python:3.12-slim") | retry(5).commands("pip download .*", "git fetch");
///
/// By default, errors with these codes or causes are worth repeating: `exec_errc::unavailable` (a busy or silent
/// service, a rate limit), a connection that was refused, reset or timed out, and, while opening,
/// `exec_errc::provider_lost`. The pause after the first attempt is 200 ms, twice as long after each further attempt,
/// and at most 10 s. Each pause is shortened by up to a half, at random.
///
/// The layer repeats what is on its left: in `provider | upload_files(...) | retry()`, a failed upload opens another
/// environment.
///
/// \return            the outcome of the first attempt that succeeds.
/// \throws            the error of the last attempt; if there were several, its sentence ends with their number.
/// \par Cancellation  terminal: also ends a pause at once, with `error{exec_errc::cancelled}`.
/// \par Cost          1 coroutine frame for each operation that may be repeated, and a copy of each command that may.
class retry : public pipeable {
 public:
  /// Sets the maximum number of attempts, the first one included.
  /// \param attempts  from 1 to 1000. Default: 3.
  /// \throws error{exec_errc::invalid_argument} for another number.
  explicit retry(std::size_t attempts = 3) {
    if (attempts == 0 || attempts > 1000)
      throw error(exec_errc::invalid_argument,
                  "retry: the number of attempts is " + std::to_string(attempts) + "; it must be from 1 to 1000");
    change().attempts = attempts;
  }

  /// Sets the pauses between attempts.
  /// \param first    the pause after the first attempt; zero or more. Default: 200 ms.
  /// \param longest  the maximum of the pauses; from `first` to 24 h. Default: 10 s.
  /// \throws error{exec_errc::invalid_argument} for other times.
  retry& pauses(std::chrono::milliseconds first, std::chrono::milliseconds longest) {
    if (first < std::chrono::milliseconds::zero() || longest < first || longest > std::chrono::hours(24))
      throw error(exec_errc::invalid_argument,
                  "retry: the pauses must be zero or more, and rise to at most 24 h; they are " +
                      std::to_string(first.count()) + " ms and " + std::to_string(longest.count()) + " ms");
    detail::retry_policy& policy = change();
    policy.first_pause = first;
    policy.longest_pause = longest;
    return *this;
  }

  /// Repeats only after errors with one of these codes, instead of the default.
  template <std::same_as<exec_errc>... Codes>
    requires(sizeof...(Codes) > 0)
  retry& errors(Codes... codes) {
    change().is_passing = [codes...](const error& failure) { return ((failure.code() == codes) || ...); };
    return *this;
  }
  /// Repeats only after errors for which a function returns true, instead of the default. A cancellation is never
  /// repeated.
  retry& errors_if(detail::callable_argument<bool(const error&)> is_passing) {
    change().is_passing = is_passing.take();
    return *this;
  }

  /// Declares that commands can be run more than once without harm.
  /// \param patterns  regular expressions, each for the whole command, as for `allow_commands`. A shell line with more
  ///                  than one plain command matches no pattern.
  /// \throws error{exec_errc::invalid_argument} if a pattern is not a regular expression.
  template <std::convertible_to<std::string>... Patterns>
    requires(sizeof...(Patterns) > 0)
  retry& commands(Patterns&&... patterns) {
    detail::retry_policy& policy = change();
    (policy.patterns.emplace_back(std::string(std::forward<Patterns>(patterns)), "retry"), ...);
    return *this;
  }
  /// Declares that the commands for which a function returns true can be run more than once without harm.
  retry& commands_if(detail::callable_argument<bool(const command&)> is_idempotent) {
    change().is_idempotent = is_idempotent.take();
    return *this;
  }

  template <code_exec_environment Inner>
  retry_layer<Inner> attach(Inner inner) const {
    return retry_layer<Inner>(std::move(inner), policy_);
  }
  /// Opens an environment of the provider, with several attempts if necessary. `provider | retry()` calls this.
  template <code_exec_provider Provider>
  awaitable<retry_layer<detail::opened_by<Provider>>> open_with(Provider provider) const {
    return open_again(std::move(provider), policy_);
  }

 private:
  template <class Provider>
  static awaitable<retry_layer<detail::opened_by<Provider>>> open_again(
      Provider provider, std::shared_ptr<const detail::retry_policy> policy) {
    const auto opens = [&provider] { return provider.open(); };
    environment_of<Provider> opened = co_await detail::repeated(policy, detail::retried_work::opening, opens);
    co_return retry_layer<detail::opened_by<Provider>>(detail::opened_by<Provider>(std::move(opened)), policy);
  }

  // Replaces the policy by a copy before a change, because other objects may share it.
  detail::retry_policy& change() {
    auto changed =
        policy_ ? std::make_shared<detail::retry_policy>(*policy_) : std::make_shared<detail::retry_policy>();
    policy_ = changed;
    return *changed;
  }

  std::shared_ptr<const detail::retry_policy> policy_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
