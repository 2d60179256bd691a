// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "support/spawn.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace cofferdam_test {

/// An E2B gateway that runs on its own thread and event loop, so that clients reach it only through the network.
class gateway_thread {
 public:
  template <cofferdam::code_exec_provider Provider>
  gateway_thread(Provider provider, cofferdam::e2b_gateway::options options)
      : loop_(1), gateway_(loop_.get_executor(), std::move(provider), std::move(options)) {
    cofferdam::listener where = cofferdam::tcp_listener(loop_.get_executor(), "127.0.0.1", 0);
    port_ = where.port();
    cofferdam_test::spawn(
        loop_, gateway_.serve(std::move(where)), [](std::exception_ptr) {}, stop_.slot());
    thread_ = std::thread([this] { loop_.run(); });
  }
  gateway_thread(const gateway_thread&) = delete;
  gateway_thread& operator=(const gateway_thread&) = delete;
  ~gateway_thread() {
    asio::post(loop_, [this] { stop_.emit(asio::cancellation_type::terminal); });
    thread_.join();
  }

  /// Returns the URL of the gateway. It serves both the control API and the traffic of the sandboxes.
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  asio::io_context loop_;
  asio::cancellation_signal stop_;
  cofferdam::e2b_gateway::server gateway_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace cofferdam_test
