// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/join_all.hpp>
#include <cofferdam/network/detail/buffered_stream.hpp>
#include <cofferdam/network/detail/connection_watch.hpp>
#include <cofferdam/network/detail/tunnel_opening.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Copies bytes between a command and a host, until both directions have ended or one has failed. Each direction holds
/// at most one buffer; while its reader is slow, nothing more is read.
template <class = void>
class basic_relay {
 public:
  basic_relay(buffered_stream& guest, buffered_stream& upstream, connection_watch& watch)
      : guest_(guest), upstream_(upstream), watch_(watch) {}

  /// Refuses TLS and HTTP: the tunnel was opened for a protocol in which the server speaks first.
  void expect_other() noexcept { expects_other_ = true; }

  /// Returns the reason why the relay has ended, or an empty text if both directions have ended in order.
  /// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
  awaitable<std::string> run() {
    const auto directions = [this](std::size_t number) { return pump(number == 0); };
    co_await join_all(2, 2, directions);
    co_return failure_;
  }

 private:
  awaitable<void> pump(bool up) {
    buffered_stream& from = up ? guest_ : upstream_;
    buffered_stream& to = up ? upstream_ : guest_;
    try {
      while (true) {
        const bytes_view data = from.pending();
        if (!data.empty()) {
          if (up) check_first(data);
          up ? watch_.sent_up(data.size()) : watch_.sent_down(data.size());
          co_await to.stream().write(data);
          from.consume(data.size());
        }
        const arrival arrived = co_await from.more();
        if (arrived != arrival::end) continue;
        co_await to.stream().shutdown_send();
        co_return;
      }
    } catch (const error& failed) {
      if (failure_.empty()) failure_ = failed.what();
      watch_.close();
      if (failed.code() == exec_errc::cancelled) throw;
    }
  }

  void check_first(bytes_view data) {
    if (!expects_other_) return;
    expects_other_ = false;
    if (tunnel_opening(data).protocol() != tunnel_protocol::other)
      throw error(exec_errc::io_error, "The command has sent TLS or HTTP after a pause. Send the first bytes at once.");
  }

  buffered_stream& guest_;
  buffered_stream& upstream_;
  connection_watch& watch_;
  std::string failure_;
  bool expects_other_ = false;
};
using relay = basic_relay<>;

/// Ends the output towards a command and discards its input for a short time. If its connection were closed at once,
/// the command could lose the answer.
template <class = void>
awaitable<void> linger(buffered_stream& guest) {
  const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  try {
    co_await guest.stream().shutdown_send();
    std::size_t left = std::size_t{16} << 20U;
    while (true) {
      const std::size_t count = guest.pending().size();
      if (count > left) break;
      left -= count;
      guest.consume(count);
      const arrival arrived = co_await guest.more(due);
      if (arrived != arrival::bytes) break;
    }
  } catch (const error& failed) {  // the command has closed its connection
    if (failed.code() == exec_errc::cancelled) throw;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
