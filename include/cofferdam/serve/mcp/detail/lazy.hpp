// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/detail/core/lazy_object.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

template <class T>
using lazy = cofferdam::detail::lazy_object<T>;

/// The sentences of the errors of a client's environment and runner.
inline constexpr cofferdam::detail::lazy_sentences lazy_sentences{"this server has no environment of this kind",
                                                                  "the session has ended"};

/// The files of an environment that is opened at its first use.
class lazy_files final : public file_system_adaptor<lazy_files> {
 public:
  explicit lazy_files(std::shared_ptr<lazy<any_environment>> inside) : inside_(std::move(inside)) {}

  template <class Operation>
  auto call(Operation operation) {
    using result = typename cofferdam::detail::awaited<std::invoke_result_t<Operation&, const file_system&>>::type;
    return pass<result>(inside_, std::move(operation));
  }

 private:
  template <class Result, class Operation>
  static awaitable<Result> pass(std::shared_ptr<lazy<any_environment>> inside, Operation operation) {
    const std::shared_ptr<any_environment> opened = co_await lazy<any_environment>::get(inside);
    if constexpr (std::is_void_v<Result>) {
      co_await cofferdam::detail::on_kept(opened->files(), std::move(operation));
    } else {
      Result result = co_await cofferdam::detail::on_kept(opened->files(), std::move(operation));
      co_return result;
    }
  }

  std::shared_ptr<lazy<any_environment>> inside_;
};

/// An environment that is opened at its first use.
class lazy_environment {
 public:
  explicit lazy_environment(std::shared_ptr<lazy<any_environment>> inside)
      : inside_(std::move(inside)), files_(std::make_shared<lazy_files>(inside_)) {}

  bool can_start() const noexcept { return !inside_->now() || inside_->now()->can_start(); }
  awaitable<command_result> run_command(command c) {
    return pass(inside_, &any_environment::run_command, std::move(c));
  }
  awaitable<process> start(command c) { return pass(inside_, &any_environment::start, std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return pass(inside_, &any_environment::read_file, std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    constexpr awaitable<void> (any_environment::*write)(std::string, bytes_view) = &any_environment::write_file;
    return pass(inside_, write, std::move(path), content);
  }
  file_system files() { return files_; }
  awaitable<void> close() { return nothing(); }

 private:
  static awaitable<void> nothing() { co_return; }

  template <class R, class... A>
  static awaitable<R> pass(std::shared_ptr<lazy<any_environment>> inside,
                           awaitable<R> (any_environment::*operation)(A...), std::type_identity_t<A>... arguments) {
    const std::shared_ptr<any_environment> opened = co_await lazy<any_environment>::get(inside);
    if constexpr (std::is_void_v<R>) {
      co_await ((*opened).*operation)(std::forward<A>(arguments)...);
    } else {
      R result = co_await ((*opened).*operation)(std::forward<A>(arguments)...);
      co_return result;
    }
  }

  std::shared_ptr<lazy<any_environment>> inside_;
  file_system files_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
