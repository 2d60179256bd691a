// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>

#include <asio/ip/address.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Looks up the addresses of a name by the system's resolver, which may block for a long time.
std::vector<asio::ip::address> look_up_host(const std::string& host, std::error_code& failure);

/// Name lookups that do not delay other lookups of this program. The system's resolver blocks its thread until a name
/// server answers, and cannot be cancelled. Asio's resolver uses one thread for all lookups of an event loop, so a
/// silent name server would stop them all. Here each lookup has its own thread. If its caller gives up, the thread
/// continues, and its result is dropped.
/// \par Threads  all calls on one executor.
class host_lookups {
 public:
  /// The maximum number of threads at the same time. More lookups wait.
  static constexpr std::size_t max_threads = 16;
  using function = std::vector<asio::ip::address> (*)(const std::string& host, std::error_code& failure);

  /// \param look_up  called on other threads.
  explicit host_lookups(function look_up = &look_up_host) : look_up_(look_up) {}

  /// Returns the addresses of a name in the system's order, each once.
  /// \param host  a DNS name.
  /// \param due   the time at which the attempt is given up.
  /// \throws error{exec_errc::io_error} with the name if it cannot be resolved in time.
  /// \par Cancellation  terminal. The caller does not wait for the end of the lookup.
  /// \par Lifetime      this object may be destroyed meanwhile.
  awaitable<std::vector<asio::ip::address>> resolve(std::string host, std::chrono::steady_clock::time_point due) const {
    return run(std::move(host), due, look_up_, running_);
  }

 private:
  using count = std::shared_ptr<std::atomic<std::size_t>>;

  /// The result of a lookup, which its thread and its caller share. The thread may outlive the caller.
  struct task {
    std::mutex mutex;
    std::vector<asio::ip::address> found;
    std::error_code failure;
  };

  static awaitable<std::vector<asio::ip::address>> run(std::string host, std::chrono::steady_clock::time_point due,
                                                       function look_up, count running);
  static awaitable<void> wait_for_a_thread(std::string host, std::chrono::steady_clock::time_point due, count running);
  static void start(std::shared_ptr<task> shared, std::string host, function look_up, count running, int ended);

  function look_up_;
  count running_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/detail/net/impl/host_lookups.ipp>
#endif
