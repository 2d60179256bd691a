// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/warden/detail/wire.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Encodes and decodes the frames that wire.hpp describes. Does no I/O.

namespace cofferdam::inline COFFERDAM_ABI::detail::wire {

/// A complete frame that has arrived from the warden (the helper program in a sandbox).
class frame {
 public:
  frame(frame_type type, std::uint32_t job, bytes_view payload) : type_(type), job_(job), payload_(payload) {}
  frame_type type() const noexcept { return type_; }
  std::uint32_t job() const noexcept { return job_; }
  /// Returns the payload. The view is valid until the next use of the decoder.
  bytes_view payload() const noexcept { return payload_; }

 private:
  frame_type type_;
  std::uint32_t job_;
  bytes_view payload_;
};

/// Returns the error for input that violates the protocol.
inline error violation(const std::string& what) {
  return error(exec_errc::provider_lost, "the warden's stream is invalid: " + what);
}

/// A decoder that splits a stream into frames. The input may be cut anywhere.
class frame_decoder {
 public:
  /// \param max_bytes  the maximum size of a payload in bytes.
  explicit frame_decoder(std::size_t max_bytes = max_payload) : max_bytes_(max_bytes) {}

  /// Returns the memory for the next bytes of the stream; never empty. Invalidates the last frame.
  std::span<std::byte> room() {
    if (begin_ != 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const std::size_t new_size = std::max(needed_, end_ + 4096);
    if (buffer_.size() < new_size) buffer_.resize(std::max(new_size, std::size_t{128} * 1024));
    return std::span(buffer_).subspan(end_);
  }

  /// Records that bytes have arrived.
  /// \param count  the number of bytes that the caller has written into `room()`.
  void arrived(std::size_t count) noexcept { end_ += count; }

  /// Returns the next complete frame; no value if more bytes are needed.
  /// \throws error{exec_errc::provider_lost} if a frame is too long. The decoder cannot be used after that.
  std::optional<frame> next() {
    if (end_ - begin_ < header_size) return std::nullopt;
    const std::byte* at = buffer_.data() + begin_;
    std::uint32_t size = 0;
    std::uint32_t job = 0;
    std::memcpy(&size, at, sizeof size);
    std::memcpy(&job, at + 5, sizeof job);
    if (size > max_bytes_) throw violation("a frame of " + std::to_string(size) + " bytes");
    needed_ = header_size + size;
    if (end_ - begin_ < needed_) return std::nullopt;
    begin_ += needed_;
    needed_ = 0;
    return frame(static_cast<frame_type>(at[4]), job, bytes_view(at + header_size, size));
  }

  /// Returns the number of bytes that do not form a complete frame yet.
  std::size_t pending() const noexcept { return end_ - begin_; }

 private:
  bytes buffer_;
  std::size_t max_bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t needed_ = 0;
};

/// A reader for the values of a payload, one after another.
class payload_reader {
 public:
  explicit payload_reader(const frame& from) : rest_(from.payload()), type_(static_cast<unsigned>(from.type())) {}

  /// Returns the next number, of type T.
  /// \throws error{exec_errc::provider_lost} if the payload is too short.
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof value) throw malformed();
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string text() {
    const std::size_t size = number<std::uint32_t>();
    if (rest_.size() <= size || rest_[size] != std::byte{0}) throw malformed();
    std::string value(as_text(rest_.first(size)));
    rest_ = rest_.subspan(size + 1);
    return value;
  }
  bool empty() const noexcept { return rest_.empty(); }
  /// Checks that the whole payload was read.
  /// \throws error{exec_errc::provider_lost} if bytes are left.
  void finish() const {
    if (!rest_.empty()) throw malformed();
  }

 private:
  error malformed() const { return violation("a malformed frame of type " + std::to_string(type_)); }

  bytes_view rest_;
  unsigned type_;
};

/// A builder of one frame.
class frame_writer {
 public:
  frame_writer(frame_type type, std::uint32_t job) : bytes_(header_size) {
    bytes_[4] = static_cast<std::byte>(type);
    std::memcpy(bytes_.data() + 5, &job, sizeof job);
  }
  template <class T>
  frame_writer& number(T value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
    return *this;
  }
  /// Appends a string with its length and a NUL.
  /// \param value  must not contain a NUL.
  frame_writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    data(as_bytes(value));
    bytes_.push_back(std::byte{0});
    return *this;
  }
  frame_writer& texts(const std::vector<std::string>& values) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) text(value);
    return *this;
  }
  frame_writer& data(bytes_view value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  /// Changes the job number of the frame.
  frame_writer& renumbered(std::uint32_t job) {
    std::memcpy(bytes_.data() + 5, &job, sizeof job);
    return *this;
  }
  /// Returns the frame. The writer must not be used after that.
  bytes take() {
    const auto size = static_cast<std::uint32_t>(bytes_.size() - header_size);
    std::memcpy(bytes_.data(), &size, sizeof size);
    return std::move(bytes_);
  }

 private:
  bytes bytes_;
};

/// Returns the type of an encoded frame.
inline frame_type type_of(bytes_view frame) noexcept { return static_cast<frame_type>(frame[4]); }

/// Returns the job number of an encoded frame, which identifies a command or a file request.
inline std::uint32_t job_of(bytes_view frame) noexcept {
  std::uint32_t job = 0;
  std::memcpy(&job, frame.data() + 5, sizeof job);
  return job;
}

/// The position of a command's time limit in an encoded `spawn` frame: after the flags, uid and gid.
inline constexpr std::size_t spawn_limit_offset = header_size + 12;

/// Returns the time limit in an encoded `spawn` frame; no value if there is no limit.
inline std::optional<std::chrono::milliseconds> spawn_limit(bytes_view frame) noexcept {
  std::uint64_t limit = 0;
  std::memcpy(&limit, frame.data() + spawn_limit_offset, sizeof limit);
  if (limit == 0) return std::nullopt;
  return std::chrono::milliseconds(limit);
}

/// Shortens the time limit in an encoded `spawn` frame, but to no less than 1 ms.
/// \param by  at least zero.
inline void shorten_spawn_limit(bytes& frame, std::chrono::milliseconds by) noexcept {
  const std::optional<std::chrono::milliseconds> limit = spawn_limit(frame);
  if (!limit) return;
  const std::uint64_t rest = *limit > by ? static_cast<std::uint64_t>((*limit - by).count()) : 1;
  std::memcpy(frame.data() + spawn_limit_offset, &rest, sizeof rest);
}

/// The contents of the first frame from a warden: its architecture, ids and capabilities.
class hello {
 public:
  /// \throws error{exec_errc::provider_lost} if the frame is not from a warden, or from a warden of another version.
  explicit hello(const frame& from) {
    if (from.type() != frame_type::hello) throw violation("its first frame is not a greeting");
    payload_reader values(from);
    if (values.number<std::uint32_t>() != magic) throw violation("its first frame is not a greeting");
    if (const auto theirs = values.number<std::uint16_t>(); theirs != version)
      throw violation("it uses protocol version " + std::to_string(theirs) + ", but this library uses " +
                      std::to_string(version) + "; use the warden of this library");
    machine_ = values.number<std::uint16_t>();
    pid_ = values.number<std::uint32_t>();
    uid_ = values.number<std::uint32_t>();
    gid_ = values.number<std::uint32_t>();
    capabilities_ = values.number<std::uint32_t>();
    max_jobs_ = values.number<std::uint32_t>();
    values.finish();
  }
  /// Returns the number of the warden's architecture in ELF files: 62 for x86-64, 183 for AArch64.
  std::uint16_t machine() const noexcept { return machine_; }
  std::uint32_t pid() const noexcept { return pid_; }
  std::uint32_t uid() const noexcept { return uid_; }
  std::uint32_t gid() const noexcept { return gid_; }
  bool can(capability what) const noexcept { return (capabilities_ & what) != 0; }
  std::uint32_t max_jobs() const noexcept { return max_jobs_; }

 private:
  std::uint16_t machine_ = 0;
  std::uint32_t pid_ = 0;
  std::uint32_t uid_ = 0;
  std::uint32_t gid_ = 0;
  std::uint32_t capabilities_ = 0;
  std::uint32_t max_jobs_ = 0;
};

/// The contents of an `exited` frame: the end of a command.
class exited {
 public:
  explicit exited(const frame& from) {
    payload_reader values(from);
    how = static_cast<exit_how>(values.number<std::uint8_t>());
    code = values.number<std::int32_t>();
    reason = static_cast<exit_reason>(values.number<std::uint8_t>());
    wall_us = values.number<std::uint64_t>();
    user_us = values.number<std::uint64_t>();
    system_us = values.number<std::uint64_t>();
    peak_kib = values.number<std::uint64_t>();
    oom_kills = values.number<std::uint32_t>();
    left = values.number<std::uint8_t>() != 0;
    values.finish();
    if (how > exit_how::lost) throw violation("a command with an unknown kind of end");
  }
  exit_how how;
  std::int32_t code;
  exit_reason reason;
  std::uint64_t wall_us;
  std::uint64_t user_us;
  std::uint64_t system_us;
  std::uint64_t peak_kib;
  std::uint32_t oom_kills;
  bool left;
};

/// One change of a `changes` frame.
class change {
 public:
  /// Reads the next change from a payload.
  /// \throws error{exec_errc::provider_lost} if it is malformed.
  explicit change(payload_reader& values)
      : kind(static_cast<change_kind>(values.number<std::uint8_t>())),
        is_directory(values.number<std::uint8_t>() != 0),
        number(values.number<std::int32_t>()),
        path(values.text()),
        from(values.text()) {
    if (kind < change_kind::created || kind > change_kind::ended) throw violation("a change of an unknown kind");
  }
  change_kind kind;
  bool is_directory;
  std::int32_t number;
  std::string path;
  std::string from;
};

/// A resource limit of a process (setrlimit(2)).
class resource_limit {
 public:
  /// \param resource  a constant such as RLIMIT_NPROC.
  resource_limit(int resource, std::uint64_t soft, std::uint64_t hard)
      : resource_(static_cast<std::uint32_t>(resource)), soft_(soft), hard_(hard) {}
  std::uint32_t resource() const noexcept { return resource_; }
  std::uint64_t soft() const noexcept { return soft_; }
  std::uint64_t hard() const noexcept { return hard_; }

 private:
  std::uint32_t resource_;
  std::uint64_t soft_;
  std::uint64_t hard_;
};

/// The description of a command: the fields of the payload of `spawn`. wire.hpp explains them.
class spawn_order {
 public:
  std::uint32_t flags = 0;
  std::uint32_t uid = keep_id;
  std::uint32_t gid = keep_id;
  std::uint64_t timeout_ms = 0;
  std::uint32_t grace_ms = 0;
  std::uint32_t linger_ms = 0;
  std::uint64_t output_cap = 0;
  std::uint32_t window = 256 * 1024;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
  std::vector<resource_limit> limits;  ///< at most 16 limits
  std::string directory;

  /// Returns the encoded frame; empty if the arguments and environment variables are longer than Linux accepts.
  bytes encode(std::uint32_t job, const std::vector<std::string>& candidates, const std::vector<std::string>& words,
               const std::vector<std::string>& variables) const {
    frame_writer to(frame_type::spawn, job);
    to.number(flags).number(uid).number(gid).number(timeout_ms).number(grace_ms).number(linger_ms);
    to.number(output_cap).number(window).number(rows).number(columns);
    to.number(static_cast<std::uint32_t>(limits.size()));
    for (const resource_limit& each : limits) to.number(each.resource()).number(each.soft()).number(each.hard());
    to.text(directory).texts(candidates).texts(words).texts(variables);
    bytes whole = to.take();
    if (whole.size() - header_size > max_spawn || words.size() + variables.size() > max_strings) return {};
    return whole;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail::wire
