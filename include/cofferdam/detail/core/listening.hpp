// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>

#include <cstdint>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The interface of the sockets behind a `listener`.
class listening {
 public:
  listening() = default;
  listening(const listening&) = delete;
  listening& operator=(const listening&) = delete;
  virtual ~listening() = default;

  virtual awaitable<byte_stream> accept() = 0;
  virtual void close() noexcept = 0;
  const std::string& name() const noexcept { return name_; }
  std::uint16_t port() const noexcept { return port_; }
  bool is_loopback() const noexcept { return loopback_; }

 protected:
  std::string name_;
  std::uint16_t port_ = 0;
  bool loopback_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
