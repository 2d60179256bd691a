// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/detail/net/host_lookups.hpp>
#include <cofferdam/net/net_error.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL std::vector<asio::ip::address> look_up_host(const std::string& host, std::error_code& failure) {
  asio::io_context unused;  // a synchronous lookup does not run it
  asio::ip::tcp::resolver resolver(unused);
  std::vector<asio::ip::address> addresses;
  for (const auto& each : resolver.resolve(host, "1", asio::ip::tcp::resolver::numeric_service, failure)) {
    const asio::ip::address address = each.endpoint().address();
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
  }
  return addresses;
}

/// Starts the thread of a lookup. It calls nothing of Asio's, because the caller's event loop may be gone by then.
/// \param ended  the writable end of a pipe, which the thread closes at its end.
COFFERDAM_DECL void host_lookups::start(std::shared_ptr<task> shared, std::string host, function look_up, count running,
                                        int ended) {
  auto work = [shared = std::move(shared), host = std::move(host), look_up, running, ended] {
    std::error_code failure;
    std::vector<asio::ip::address> found;
    try {
      found = look_up(host, failure);
    } catch (const std::exception&) {  // no memory
      failure = std::make_error_code(std::errc::not_enough_memory);
    }
    {
      const std::lock_guard lock(shared->mutex);
      shared->found = std::move(found);
      shared->failure = failure;
    }
    ::close(ended);
    --*running;
  };
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's handlers run on its own threads
  std::error_code none;
  ++*running;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& failed) {
    none = failed.code();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!none) return;
  --*running;
  ::close(ended);
  throw error(exec_errc::io_error, "no thread can be started to resolve a name", none);
}

inline error lookup_is_late(const std::string& host) {
  return error(exec_errc::io_error, "the name " + host + " was not resolved within the time limit",
               net_errc::timed_out);
}

inline error lookup_is_cancelled(const std::string& host) {
  return error(exec_errc::cancelled, "cancelled while resolving the name " + host);
}

COFFERDAM_DECL awaitable<void> host_lookups::wait_for_a_thread(std::string host,
                                                               std::chrono::steady_clock::time_point due,
                                                               count running) {
  constexpr std::chrono::milliseconds pause(50);
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  async_event never(std::move(executor));
  while (*running >= max_threads) {
    const auto now = async_event::clock::now();
    if (now >= due) throw lookup_is_late(host);
    const wait_result result = co_await never.wait(std::min(due, now + pause));
    if (result == wait_result::cancelled) throw lookup_is_cancelled(host);
  }
}

COFFERDAM_DECL awaitable<std::vector<asio::ip::address>> host_lookups::run(std::string host,
                                                                           std::chrono::steady_clock::time_point due,
                                                                           function look_up, count running) {
  co_await wait_for_a_thread(host, due, running);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw error(exec_errc::io_error, "no pipe can be made to resolve a name",
                std::error_code(errno, std::system_category()));
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor ended(executor, ends[0]);
  const auto shared = std::make_shared<task>();
  start(shared, host, look_up, running, ends[1]);
  deadline_timer limit(executor, [&ended] {
    std::error_code ignored;  // the descriptor is closed even if `close` fails
    ended.close(ignored);
  });
  limit.arm_until(due);
  std::error_code failure;
  co_await ended.async_wait(asio::posix::stream_descriptor::wait_read,
                            asio::redirect_error(asio::use_awaitable, failure));
  limit.stop();
  if (limit.expired()) throw lookup_is_late(host);
  if (failure) throw lookup_is_cancelled(host);
  const std::lock_guard lock(shared->mutex);
  if (shared->failure)
    throw error(exec_errc::io_error,
                "the name " + host + " cannot be resolved: " + shared->failure.message() +
                    "; check the spelling and the network connection",
                shared->failure);
  co_return std::move(shared->found);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
