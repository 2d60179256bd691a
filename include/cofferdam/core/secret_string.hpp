// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Strings and buffers for secrets, such as API keys. Their memory is left out of core dumps (MADV_DONTDUMP, madvise(2))
// and is overwritten with zeros when it is freed.

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

/// A pool of memory for secrets. It maps pages and gives out parts of them. The program has one pool, which is never
/// destroyed, because secrets in static objects may still use it at the end of the program.
class secret_pool {
 public:
  static secret_pool& instance() {
    static auto* const pool = new secret_pool;
    return *pool;
  }
  secret_pool(const secret_pool&) = delete;
  secret_pool& operator=(const secret_pool&) = delete;

  /// Allocates memory for a secret.
  /// \throws std::bad_alloc if the system has no memory.
  void* take(std::size_t size) {
    const std::size_t which = class_of(size);
    if (which == classes) return map(size);
    const std::lock_guard lock(mutex_);
    if (free_[which] == nullptr) refill(which);
    part* const first = free_[which];
    free_[which] = first->next;
    return first;
  }
  /// Overwrites memory from `take` with zeros and frees it.
  /// \param size  the size that was passed to `take`.
  void give(void* memory, std::size_t size) noexcept {
    ::explicit_bzero(memory, size);
    const std::size_t which = class_of(size);
    if (which == classes) {
      ::munmap(memory, whole_pages(size));
      return;
    }
    const std::lock_guard lock(mutex_);
    free_[which] = new (memory) part{free_[which]};
  }

 private:
  struct part {
    part* next;
  };
  static constexpr std::size_t smallest = 64;
  static constexpr std::size_t classes = 8;  // the number of block sizes: 64 bytes, 128 bytes and so on up to 8 KiB
  static constexpr std::size_t chunk = std::size_t{64} * 1024;

  secret_pool() = default;

  static std::size_t class_of(std::size_t size) noexcept {
    const std::size_t units = (std::max<std::size_t>(size, 1) + smallest - 1) / smallest;
    return std::min<std::size_t>(std::bit_width(units - 1), classes);
  }
  static std::size_t whole_pages(std::size_t size) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (size + page - 1) / page * page;
  }
  static void* map(std::size_t size) {
    const std::size_t whole = whole_pages(size);
    if (whole < size) throw std::bad_alloc();
    void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, whole, MADV_DONTDUMP);  // if the kernel does not support this, core dumps contain the memory
    return memory;
  }
  void refill(std::size_t which) {
    const std::size_t size = smallest << which;
    auto* const memory = static_cast<std::byte*>(map(chunk));
    for (std::size_t at = 0; at + size <= chunk; at += size) free_[which] = new (memory + at) part{free_[which]};
  }

  std::mutex mutex_;
  std::array<part*, classes> free_{};
};

/// Overwrites a text and the unused part of its memory with zeros, and makes it empty.
inline void wipe(std::string& text) noexcept {
  text.resize(text.capacity());
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

/// Leaves the memory of this text out of core dumps. Whole pages are left out, so other data in the same pages is
/// missing too.
inline void keep_out_of_core_dumps(std::string_view text) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(text.data()) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(text.data()) + text.size() + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTDUMP);
}

}  // namespace detail

/// An allocator of memory that is left out of core dumps and is overwritten with zeros when it is freed.
/// \par Threads  any.
/// \par Cost     up to 8 KiB: locking a mutex and taking a block from a list; above 8 KiB: a few system calls.
template <class T>
class secret_allocator {
 public:
  /// The type of the allocated elements.
  using value_type = T;
  secret_allocator() noexcept = default;
  template <class U>
  secret_allocator(const secret_allocator<U>&) noexcept {}

  /// Allocates protected memory for `count` elements.
  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(detail::secret_pool::instance().take(count * sizeof(T)));
  }
  /// Overwrites memory of `allocate` with zeros and frees it.
  void deallocate(T* memory, std::size_t count) noexcept {
    detail::secret_pool::instance().give(memory, count * sizeof(T));
  }
  /// Returns true, because every allocator frees the memory of every other.
  template <class U>
  bool operator==(const secret_allocator<U>&) const noexcept {
    return true;
  }
};

/// A buffer for bytes that contain a secret. It is not a `basic_string`, because that stores a short text inside the
/// object instead of in allocated memory.
using secret_bytes = std::vector<char, secret_allocator<char>>;

/// A secret text, such as a key or a token. It has no output operator and no comparison, so it cannot be printed by
/// accident; only `reveal()` returns the text. Its memory is left out of core dumps. Copies share the text.
/// \par Threads  const members may be called from any thread.
class secret_string {
 public:
  secret_string() = default;
  /// Copies `text` into protected memory and overwrites `text` with zeros. Move the secret in,
  /// `secret_string(std::move(key))`, so that no copy of it remains. The memory of the original text was not protected,
  /// so a core dump made before this call can contain it.
  explicit secret_string(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const secret_bytes>(text.begin(), text.end())) {
    detail::wipe(text);
  }

  /// Returns true if the text is empty.
  bool empty() const noexcept { return !text_; }
  /// Returns the number of bytes of the text.
  std::size_t size() const noexcept { return text_ ? text_->size() : 0; }
  /// Returns a view of the secret text. The view is valid while this object or a copy exists. Do not print or copy the
  /// text.
  std::string_view reveal() const noexcept {
    return text_ ? std::string_view(text_->data(), text_->size()) : std::string_view();
  }

 private:
  std::shared_ptr<const secret_bytes> text_;
};

/// Replaces secrets in messages of a remote service, which may quote the key that it refuses. Pass every message
/// through `clean` before any other use.
class redactor {
 public:
  /// Adds a secret to replace. A secret of fewer than 4 bytes is ignored, because no service issues such short secrets.
  void hide(const secret_string& secret) {
    if (secret.size() < 4) return;
    // A secret may contain another one, so the longest is replaced first.
    const auto is_shorter = [&secret](const secret_string& other) { return other.size() < secret.size(); };
    hidden_.insert(std::find_if(hidden_.begin(), hidden_.end(), is_shorter), secret);
  }

  /// Returns the text with `[redacted]` in place of each added secret.
  std::string clean(std::string_view text) const {
    std::string safe(text);
    for (const secret_string& secret : hidden_) {
      constexpr std::string_view mark = "[redacted]";
      for (std::size_t at = safe.find(secret.reveal()); at != std::string::npos; at = safe.find(secret.reveal(), at)) {
        safe.replace(at, secret.size(), mark);
        at += mark.size();
      }
    }
    return safe;
  }

 private:
  std::vector<secret_string> hidden_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
