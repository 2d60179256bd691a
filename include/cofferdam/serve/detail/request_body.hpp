// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/net/http_call.hpp>

#include <asio/any_io_executor.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

// Reads the bodies of a server's requests, within a memory limit that all requests share.

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Memory that one request has taken, both from the memory of all requests and from the part of its owner (such as an
/// API key). The destructor returns it.
class shared_units {
 public:
  shared_units(std::shared_ptr<async_semaphore> part, held_permits of_owner, held_permits of_all) noexcept
      : part_(std::move(part)), of_owner_(std::move(of_owner)), of_all_(std::move(of_all)) {}

 private:
  std::shared_ptr<async_semaphore> part_;  // declared first, so that it outlives the permits below
  held_permits of_owner_;
  held_permits of_all_;
};

/// The memory that the requests of a server share. An owner, such as an API key, may use only a part of it, and waits
/// for more in its own queue. So large requests of one owner do not delay other owners.
template <class Owner>
class request_memory {
 public:
  /// \param limit          the memory of all requests together, in bytes.
  /// \param request_limit  the maximum for one request, in bytes.
  /// \param shares         the number of equal parts. An owner may use one part, but always enough for one request.
  request_memory(const asio::any_io_executor& executor, std::size_t limit, std::size_t request_limit,
                 std::size_t shares = 4)
      : executor_(executor),
        all_(executor, std::max(limit, request_limit)),
        part_(std::max(limit / shares, request_limit)) {}

  /// Waits until the memory is available in the owner's part and in the whole, and takes it.
  /// \param units  bytes; at most `request_limit`.
  awaitable<std::unique_ptr<shared_units>> take(Owner owner, std::size_t units) {
    const std::shared_ptr<async_semaphore> part = part_of(owner);
    co_await part->acquire(units, "read a request");
    held_permits of_owner(*part, units);
    co_await all_.acquire(units, "read a request");
    co_return std::make_unique<shared_units>(part, std::move(of_owner), held_permits(all_, units));
  }

 private:
  std::shared_ptr<async_semaphore> part_of(const Owner& owner) {
    std::erase_if(parts_, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<async_semaphore> part = parts_[owner].lock();
    if (!part) part = std::make_shared<async_semaphore>(executor_, part_);
    parts_[owner] = part;
    return part;
  }

  asio::any_io_executor executor_;
  async_semaphore all_;
  std::size_t part_;
  std::map<Owner, std::weak_ptr<async_semaphore>> parts_;  // has only owners that use memory or wait for it
};

/// A request's body, and the memory that it has taken from the common memory.
class request_body {
 public:
  /// A body up to this size, in bytes, takes no common memory: the buffers of its connection are as large anyway.
  static constexpr std::size_t small = std::size_t{16} * 1024;

  std::string_view text() const noexcept { return as_text(content_); }
  /// Returns true while `read` waits for memory.
  bool is_waiting() const noexcept { return is_waiting_; }
  /// Releases the text after it was parsed. The taken memory is kept, because the parsed values need it.
  void drop_text() noexcept { bytes().swap(content_); }

  /// Reads the body. Takes memory only after more than a small body has arrived; a `Content-Length` alone takes none.
  /// \param units         the memory to take, in bytes.
  /// \param memory, call  kept by the caller, like `into`, until this completes.
  template <class Owner>
  static awaitable<void> read(request_memory<Owner>& memory, Owner owner, std::size_t units, http_call& call,
                              request_body& into) {
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
  std::unique_ptr<shared_units> room_;
  bytes content_;
  bool is_waiting_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
