// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/network/detail/certificate_authority.hpp>

#include <asio/any_io_executor.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The server's side of TLS over any stream. OpenSSL reads from and writes to memory; this class moves the bytes. The
/// handshake takes place in the first read.
class guest_tls_stream final : public byte_stream::implementation {
 public:
  guest_tls_stream(const asio::any_io_executor& executor, byte_stream below, SSL_CTX* server)
      : below_(std::move(below)), flushed_(executor), tls_(SSL_new(server)) {
    BIO* const in = BIO_new(BIO_s_mem());
    BIO* const out = BIO_new(BIO_s_mem());
    if (!tls_ || in == nullptr || out == nullptr) {
      BIO_free(in);
      BIO_free(out);
      throw error(exec_errc::io_error, "TLS: no memory for a connection of a command");
    }
    SSL_set_bio(tls_.get(), in, out);
    SSL_set_accept_state(tls_.get());
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    while (true) {
      ERR_clear_error();
      const int size = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
      const int count = SSL_read(tls_.get(), into.data(), size);
      const int reason = count > 0 ? SSL_ERROR_NONE : SSL_get_error(tls_.get(), count);
      co_await flush();
      if (count > 0) co_return static_cast<std::size_t>(count);
      if (reason == SSL_ERROR_ZERO_RETURN) co_return 0;
      if (reason != SSL_ERROR_WANT_READ) throw failed();
      const std::size_t received = co_await below_.read_some(room_);
      if (received == 0) co_return 0;  // the requests inside have lengths of their own, which reveal a cut
      BIO_write(SSL_get_rbio(tls_.get()), room_.data(), static_cast<int>(received));
    }
  }

  awaitable<void> write(bytes_view data) override {
    while (!data.empty()) {
      constexpr std::size_t at_once = std::size_t{16} * 1024;
      const std::size_t size = std::min(data.size(), at_once);
      ERR_clear_error();
      const int count = SSL_write(tls_.get(), data.data(), static_cast<int>(size));
      if (count <= 0) throw failed();  // memory takes every byte, so only a broken connection refuses one
      data = data.subspan(static_cast<std::size_t>(count));
      co_await flush();
    }
  }

  awaitable<void> shutdown_send() override {
    if (!std::exchange(ended_, true)) {
      SSL_shutdown(tls_.get());
      ERR_clear_error();
    }
    co_await flush();
    co_await below_.shutdown_send();
  }

  void close() noexcept override {
    below_.close();
    flushed_.notify();
  }

  bool is_quiet() noexcept override { return SSL_has_pending(tls_.get()) == 0 && below_.is_quiet(); }

 private:
  /// Sends what OpenSSL has written to memory. A reader and a writer may call this at the same time; one of them sends.
  awaitable<void> flush() {
    while (flushing_) {
      const wait_result woken = co_await flushed_.wait();
      if (woken == wait_result::cancelled) throw error(exec_errc::cancelled, "a command's connection: cancelled");
    }
    BIO* const out = SSL_get_wbio(tls_.get());
    if (BIO_ctrl_pending(out) == 0) co_return;
    const turn mine(*this);
    while (BIO_ctrl_pending(out) != 0) {
      const int size = BIO_read(out, sending_.data(), static_cast<int>(sending_.size()));
      if (size <= 0) throw failed();
      const bytes_view data = bytes_view(sending_).first(static_cast<std::size_t>(size));
      co_await below_.write(data);
    }
  }

  /// The right to send. The destructor gives it back.
  class turn {
   public:
    explicit turn(guest_tls_stream& of) noexcept : of_(of) { of_.flushing_ = true; }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      of_.flushing_ = false;
      of_.flushed_.notify();
    }

   private:
    guest_tls_stream& of_;
  };

  static error failed() {
    const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return error(exec_errc::io_error,
                 std::string("The TLS of a command's connection failed: ") + (reason != nullptr ? reason : "no reason"),
                 net_errc::malformed);
  }

  byte_stream below_;
  async_event flushed_;
  unique_ssl tls_;
  std::array<std::byte, std::size_t{16} * 1024> room_;
  std::array<std::byte, std::size_t{17} * 1024> sending_;
  bool flushing_ = false;
  bool ended_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
