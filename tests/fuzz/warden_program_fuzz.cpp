// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the warden program gets any bytes as the stream from its host. (The warden is the helper program in each
// sandbox.) It must reply with whole frames only. When the stream ends, it must end within seconds, with status 0.
// Input: one byte for the size of the pieces and for the way in which the stream ends, then steps. A step below 128 is
// a well-formed frame for one of four jobs (commands). Any other step adds some bytes of the input unchanged. The
// target first configures the warden without a root folder, so that no input reaches a file.

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/warden/start_warden.hpp>
#include <cofferdam/warden/detail/protocol.hpp>
#include <cofferdam/warden/image.hpp>

#include "fuzz/target.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace wire = cofferdam::detail::wire;
using cofferdam::bytes;
using frame = wire::frame_type;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  bytes some(std::size_t limit) {
    const std::span<const std::uint8_t> piece = rest_.first(std::min(limit, rest_.size()));
    rest_ = rest_.subspan(piece.size());
    const auto* at = reinterpret_cast<const std::byte*>(piece.data());
    return bytes(at, at + piece.size());
  }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Returns the bytes of the next step: a frame, or some bytes of the input.
bytes step(input& from) {
  const std::uint8_t what = from.byte();
  const std::uint32_t job = what % 4U;
  switch (what < 128 ? what / 8 : 16 + (what - 128) / 32) {
    case 0:
    case 1:
    case 2: {
      wire::spawn_order order;
      order.flags = from.byte() & (wire::spawn_open_input | wire::spawn_merge | wire::spawn_terminal |
                                   wire::spawn_keep | wire::spawn_no_new_privileges);
      const std::uint8_t limits = from.byte();
      order.timeout_ms = limits % 8U;
      order.grace_ms = limits / 8U % 4U;
      order.linger_ms = limits / 32U;
      order.window = from.byte();
      order.output_cap = from.byte();
      switch (from.byte() % 4) {
        case 0: return order.encode(job, {"/bin/cat"}, {"cat"}, {});
        case 1: return order.encode(job, {"/bin/echo"}, {"echo", std::string(from.byte(), 'x')}, {"A=1"});
        case 2: return order.encode(job, {"/nowhere"}, {"x"}, {});
        default: return order.encode(job, {"/bin/true"}, {"true"}, {});
      }
    }
    case 3:
    case 4: return wire::frame_writer(frame::input, job).data(from.some(from.byte())).take();
    case 5: return wire::frame_writer(frame::input_end, job).take();
    case 6: return wire::frame_writer(frame::kill, job).number(std::uint32_t{from.byte()} % 8U).take();
    case 7: {
      const std::uint8_t scope = from.byte() % 3;
      return wire::frame_writer(frame::signal, job).number(scope).number(from.byte()).take();
    }
    case 8: {
      const auto stream = static_cast<std::uint8_t>(1 + from.byte() % 2);
      return wire::frame_writer(frame::credit, job).number(stream).number(std::uint32_t{from.byte()}).take();
    }
    case 9:
      return wire::frame_writer(frame::resize, job).number(std::uint16_t{from.byte()}).number(std::uint16_t{9}).take();
    case 10:
    case 11: return wire::frame_writer(frame::ping, job).data(from.some(from.byte() % 70)).take();
    case 12: return wire::frame_writer(frame::kill_all, 0).take();
    case 13: {
      constexpr frame kinds[] = {frame::stat, frame::watch, frame::watch_credit, frame::watch_end, frame::adopt};
      const frame kind = kinds[from.byte() % 5];
      if (kind == frame::watch_end) return wire::frame_writer(kind, job).take();
      if (kind == frame::watch_credit) return wire::frame_writer(kind, job).number(std::uint32_t{from.byte()}).take();
      wire::frame_writer request(kind, job);
      request.text("x");
      if (kind == frame::watch) request.number(std::uint8_t{1}).number(std::uint32_t{64});
      if (kind == frame::adopt) request.number(wire::keep_mode).number(std::uint64_t{from.byte()}).text("/none");
      return request.take();
    }
    case 14:
    case 15: {  // never a valid `spawn`, which could start any program
      const auto type = static_cast<frame>(from.byte());
      if (type == frame::spawn) return wire::frame_writer(type, job).data(from.some(32)).take();
      return wire::frame_writer(type, job).data(from.some(from.byte())).take();
    }
    default: return from.some(1 + from.byte() % 12);
  }
}

/// A connection to the warden. Sends the input, and receives replies at the same time.
class conversation {
 public:
  explicit conversation(int fd) : fd_(fd) {}

  void send(std::span<const std::byte> stream, std::size_t piece) {
    while (!stream.empty() && !ended_) {
      const ssize_t sent = ::send(fd_, stream.data(), std::min(piece, stream.size()), MSG_NOSIGNAL);
      if (sent > 0) {
        stream = stream.subspan(static_cast<std::size_t>(sent));
        continue;
      }
      if (errno == EPIPE || errno == ECONNRESET) return;  // the warden has closed the stream
      require(errno == EAGAIN || errno == EINTR, "the stream takes bytes");
      wait(POLLIN | POLLOUT);
      receive();
    }
  }

  void receive_all() {
    while (!ended_) {
      wait(POLLIN);
      receive();
    }
    require(decoder_.pending() == 0 || lost_, "the last frame is whole");
  }

 private:
  void wait(int events) {
    pollfd ready{fd_, static_cast<short>(events), 0};
    require(::poll(&ready, 1, 10'000) > 0, "something happens within seconds");
  }

  void receive() {
    const std::span<std::byte> room = decoder_.room();
    const ssize_t got = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      ended_ = true;
      lost_ = got < 0;
      return;
    }
    decoder_.arrived(static_cast<std::size_t>(got));
    try {
      while (const std::optional<wire::frame> next = decoder_.next()) {
        require(!refused_, "protocol_error is the last frame");
        if (next->type() == frame::hello) static_cast<void>(wire::hello(*next));
        if (next->type() == frame::exited) static_cast<void>(wire::exited(*next));
        refused_ = next->type() == frame::protocol_error;
        require(static_cast<unsigned>(next->type()) >= 0x80, "only what a warden sends");
      }
    } catch (const cofferdam::error& failure) {
      require(false, failure.what());
    }
  }

  int fd_;
  wire::frame_decoder decoder_;
  bool ended_ = false;
  bool lost_ = false;
  bool refused_ = false;
};

}  // namespace

COFFERDAM_FUZZ_TARGET(warden_program)(const std::uint8_t* data, std::size_t size) {
  // Each input starts a process, which is slow. Runs the first 16 inputs, and then each 32nd.
  static unsigned long count = 0;
  if (size < 2 || (count++ >= 16 && count % 32 != 0)) return 0;

  input from(data + 1, size - 1);
  bytes stream =
      wire::frame_writer(frame::configure, 0).number(std::uint32_t{0}).number(std::uint32_t{0}).text("").take();
  for (int i = 0; i < 200 && !from.empty(); ++i) {
    const bytes next = step(from);
    stream.insert(stream.end(), next.begin(), next.end());
  }

  static constexpr std::size_t pieces[] = {1'000'000, 1, 7, 100};
  cofferdam::detail::started_warden warden = cofferdam::detail::start_warden(cofferdam::native_warden_image().program(),
                                                                             std::filesystem::temp_directory_path());
  {
    conversation with(warden.socket.get());
    with.send(stream, pieces[data[0] % 4]);
    if ((data[0] & 4) != 0) {
      ::shutdown(warden.socket.get(), SHUT_WR);
      with.receive_all();
    }
    warden.socket.reset();
  }
  pollfd ended{warden.pidfd.get(), POLLIN, 0};
  require(::poll(&ended, 1, 10'000) == 1, "it ends within seconds");
  siginfo_t status{};
  require(::waitid(P_PIDFD, static_cast<id_t>(warden.pidfd.get()), &status, WEXITED) == 0, "it is ours");
  require(status.si_code == CLD_EXITED && status.si_status == 0, "it ends with status 0");
  return 0;
}
