// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/allotment.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/sha256.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

namespace cofferdam::inline v0::detail {

/// Awaits what reads a request's body for so long. \throws gateway_refusal 408 behind that; what `reading` throws.
inline awaitable<void> gateway_in_time(asio::any_io_executor executor, std::chrono::milliseconds time,
                                       awaitable<void> reading) {
  asio::steady_timer limit(executor, time);
  auto both = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(reading), detail::deferred),
                                                      limit.async_wait(detail::deferred));
  auto result = co_await both.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const std::exception_ptr failure = std::get<1>(result);
  const bool is_late = std::get<0>(result)[0] != 0 && !std::get<2>(result);
  if (failure && is_late) throw gateway_refusal(408, "The request has not arrived within the time limit");
  if (failure) std::rethrow_exception(failure);
}

/// What a request has taken of the memory that all share, and of its owner's part.
class gateway_room {
 public:
  gateway_room(std::shared_ptr<allotment> part, allotted of_owner, allotted of_all) noexcept
      : part_(std::move(part)), of_owner_(std::move(of_owner)), of_all_(std::move(of_all)) {}

 private:
  std::shared_ptr<allotment> part_;  // outlives what was taken of it
  allotted of_owner_;
  allotted of_all_;
};

/// The memory of all requests. An owner has at most a quarter of it, or one request, and waits for more in a queue of its
/// own: who asks for much keeps nobody else waiting.
class gateway_memory {
 public:
  /// \param one  the most that is taken for one request.
  gateway_memory(const asio::any_io_executor& executor, std::size_t most, std::size_t one)
      : executor_(executor), all_(executor, most), part_(std::max(most / 4, one)) {}

  awaitable<std::unique_ptr<gateway_room>> take(sha256_digest owner, std::size_t units) {
    const std::shared_ptr<allotment> part = part_of(owner);
    co_await part->take(units, "read a request");
    allotted of_owner(*part, units);
    co_await all_.take(units, "read a request");
    co_return std::make_unique<gateway_room>(part, std::move(of_owner), allotted(all_, units));
  }

 private:
  std::shared_ptr<allotment> part_of(const sha256_digest& owner) {
    std::erase_if(parts_, [](const auto& one) { return one.second.expired(); });
    std::shared_ptr<allotment> part = parts_[owner].lock();
    if (!part) part = std::make_shared<allotment>(executor_, part_);
    parts_[owner] = part;
    return part;
  }

  asio::any_io_executor executor_;
  allotment all_;
  std::size_t part_;
  std::map<sha256_digest, std::weak_ptr<allotment>> parts_;  // of those who have some, or wait for it
};

/// A request's body, and its place in the memory that all of them share.
class gateway_body {
 public:
  /// Of this size a body takes no place: its connection has buffers as large.
  static constexpr std::size_t small = std::size_t{16} * 1024;

  std::string_view text() const noexcept { return as_text(content_); }
  /// Whether it waits for memory.
  bool is_waiting() const noexcept { return is_waiting_; }

  /// Reads it. Takes memory once more has come than a small one has; what was only announced takes none.
  /// \param units  how much. \param into  kept by the caller, as are the others, until this completes.
  static awaitable<void> read(gateway_memory& memory, sha256_digest owner, std::size_t units, http_call& call,
                              gateway_body& into) {
    std::array<std::byte, small> piece;
    for (;;) {
      const std::size_t count = co_await call.read_some(piece);
      if (count == 0) break;
      if (!into.room_ && into.content_.size() + count > small) {
        into.is_waiting_ = true;
        into.room_ = co_await memory.take(owner, units);
        into.is_waiting_ = false;
        into.content_.reserve(units);
      }
      into.content_.insert(into.content_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }

 private:
  std::unique_ptr<gateway_room> room_;
  bytes content_;
  bool is_waiting_ = false;
};

}  // namespace cofferdam::inline v0::detail
