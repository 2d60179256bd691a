// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// System calls without a C library, which return a negative errno on failure, and the few functions that compilers
// need.
#pragma once

#include <cstddef>
#include <cstdint>

#include <asm/unistd.h>
#include <linux/errno.h>

#if !defined(__LITTLE_ENDIAN__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little-endian, and so is this program"
#endif

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using std::size_t;

extern "C" {

[[gnu::used]] void* memcpy(void* to, const void* from, size_t size) {
  auto* out = static_cast<u8*>(to);
  const auto* in = static_cast<const u8*>(from);
#if defined(__x86_64__)
  void* result = to;
  asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(size) : : "memory");
  return result;
#else
  for (; size >= 8; size -= 8, out += 8, in += 8) __builtin_memcpy(out, in, 8);
  for (; size != 0; --size) *out++ = *in++;
  return to;
#endif
}

[[gnu::used]] void* memmove(void* to, const void* from, size_t size) {
  auto* out = static_cast<u8*>(to);
  const auto* in = static_cast<const u8*>(from);
  if (out <= in || out >= in + size) return memcpy(to, from, size);
  while (size-- != 0) out[size] = in[size];
  return to;
}

[[gnu::used]] void* memset(void* to, int value, size_t size) {
  auto* out = static_cast<u8*>(to);
  for (; size != 0; --size) *out++ = static_cast<u8>(value);
  return to;
}

[[gnu::used]] int memcmp(const void* a, const void* b, size_t size) {
  const auto* x = static_cast<const u8*>(a);
  const auto* y = static_cast<const u8*>(b);
  for (; size != 0; --size, ++x, ++y)
    if (*x != *y) return *x - *y;
  return 0;
}

[[gnu::used]] size_t strlen(const char* text) {
  size_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}

// Calls clone(2). The child calls `entry(argument)` on the given stack. `entry` must not return.
long warden_clone(unsigned long flags, void* stack_end, void (*entry)(void*), void* argument);
}

#if defined(__x86_64__)
inline constexpr u16 elf_machine = 62;
inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
asm(R"(
  .text
  .globl _start
_start:
  xor %ebp, %ebp
  mov %rsp, %rdi
  and $-16, %rsp
  call warden_start
  hlt
  .globl warden_clone
warden_clone:
  and $-16, %rsi
  sub $16, %rsi
  mov %rdx, 0(%rsi)
  mov %rcx, 8(%rsi)
  xor %edx, %edx
  xor %r10d, %r10d
  xor %r8d, %r8d
  mov $56, %eax
  syscall
  test %eax, %eax
  jnz 1f
  xor %ebp, %ebp
  pop %rax
  pop %rdi
  call *%rax
  hlt
1:
  ret
)");
#elif defined(__aarch64__)
inline constexpr u16 elf_machine = 183;
inline long kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}
asm(R"(
  .text
  .globl _start
_start:
  mov x29, xzr
  mov x0, sp
  and sp, x0, #-16
  bl warden_start
  brk #0
  .globl warden_clone
warden_clone:
  and x1, x1, #-16
  stp x2, x3, [x1, #-16]!
  mov x2, xzr
  mov x3, xzr
  mov x4, xzr
  mov x8, #220
  svc #0
  cbnz x0, 1f
  ldp x2, x0, [sp], #16
  blr x2
  brk #0
1:
  ret
)");
#else
#error "the warden knows x86-64 and aarch64"
#endif

inline long address(const void* pointer) { return reinterpret_cast<long>(pointer); }

// ---- constants of the kernel, defined here because its headers conflict with those of a C library -------------------

inline constexpr int o_rdonly = 0, o_wronly = 1, o_rdwr = 2, o_creat = 0100, o_excl = 0200, o_noctty = 0400,
                     o_trunc = 01000, o_nonblock = 04000, o_cloexec = 02000000, o_path = 010000000;
#if defined(__aarch64__)
inline constexpr int o_directory = 040000, o_nofollow = 0100000;
#else
inline constexpr int o_directory = 0200000, o_nofollow = 0400000;
#endif
inline constexpr int at_fdcwd = -100, at_empty_path = 0x1000, at_symlink_nofollow = 0x100, at_removedir = 0x200;
inline constexpr int sig_hup = 1, sig_kill = 9, sig_usr1 = 10, sig_pipe = 13, sig_term = 15, sig_chld = 17;
inline constexpr int sig_cont = 18, sig_stop = 19;
inline constexpr int dup_closing = 1030;  // F_DUPFD_CLOEXEC; its argument, the lowest number, is usually 10
inline constexpr int wnohang = 1, wstopped = 2, wexited = 4, wcontinued = 8, wall_children = 0x40000000;
inline constexpr short poll_in = 1, poll_out = 4, poll_error = 8, poll_hang_up = 16;

struct time_spec {
  i64 seconds;
  i64 nanoseconds;
};
struct poll_entry {
  int fd;
  short events;
  short happened;
};
struct io_vector {
  const void* data;
  size_t size;
};
struct message_header {
  void* name;
  u32 name_size;
  io_vector* vectors;
  size_t vector_count;
  void* control;
  size_t control_size;
  int flags;
};
struct control_header {
  size_t size;
  int level;
  int type;
};
struct limit_values {
  u64 soft;
  u64 hard;
};
struct usage {
  i64 user_s, user_us, system_s, system_us, peak_kib, rest[13];
};

// ---- small functions ------------------------------------------------------------------------------------------------

inline bool retried(long result) { return result == -EINTR; }

[[noreturn]] inline void end_process(int code) {
  for (;;) kernel(__NR_exit_group, code);
}

inline u64 now_us() {
  time_spec time{};
  kernel(__NR_clock_gettime, 1, address(&time));  // CLOCK_MONOTONIC
  return static_cast<u64>(time.seconds) * 1000000 + static_cast<u64>(time.nanoseconds) / 1000;
}

inline void close_fd(int& fd) {
  if (fd >= 0) kernel(__NR_close, fd);
  fd = -1;
}

inline int open_at(int directory, const char* path, int flags, u32 mode = 0) {
  long result;
  do {
    result = kernel(__NR_openat, directory, address(path), flags | o_cloexec, mode);
  } while (retried(result));
  return static_cast<int>(result);
}

inline long read_fd(int fd, void* to, size_t most) {
  long result;
  do {
    result = kernel(__NR_read, fd, address(to), static_cast<long>(most));
  } while (retried(result));
  return result;
}

inline long write_fd(int fd, const void* from, size_t size) {
  long result;
  do {
    result = kernel(__NR_write, fd, address(from), static_cast<long>(size));
  } while (retried(result));
  return result;
}

/// Reads a small file, and ends its content with a NUL. Returns the length, or a negative errno.
inline long read_file_at(int directory, const char* path, char* to, size_t capacity) {
  int fd = open_at(directory, path, o_rdonly);
  if (fd < 0) return fd;
  size_t size = 0;
  for (;;) {
    const long got = read_fd(fd, to + size, capacity - 1 - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
    if (size == capacity - 1) break;
  }
  close_fd(fd);
  to[size] = 0;
  return static_cast<long>(size);
}

/// Sends one message with up to eight descriptors. Does not wait.
inline long send_message(int fd, const void* head, size_t head_size, const void* body, size_t body_size, const int* fds,
                         size_t fd_count) {
  io_vector vectors[2] = {{head, head_size}, {body, body_size}};
  alignas(8) u8 control[sizeof(control_header) + 8 * sizeof(int)] = {};
  message_header message{};
  message.vectors = vectors;
  message.vector_count = body_size != 0 ? 2 : 1;
  if (fd_count != 0) {
    control_header header{sizeof(control_header) + fd_count * sizeof(int), 1, 1};  // SOL_SOCKET, SCM_RIGHTS
    memcpy(control, &header, sizeof header);
    memcpy(control + sizeof header, fds, fd_count * sizeof(int));
    message.control = control;
    message.control_size = sizeof(control_header) + (fd_count * sizeof(int) + 7) / 8 * 8;
  }
  long result;
  do {
    result = kernel(__NR_sendmsg, fd, address(&message), 0x4040);  // MSG_NOSIGNAL | MSG_DONTWAIT
  } while (retried(result));
  return result;
}

/// Receives a piece of a stream, or one message, with up to `max_fds` descriptors. If more descriptors arrive, or if
/// the kernel could not deliver all of them, closes those that have arrived and returns -EPROTO.
inline long receive_message(int fd, void* to, size_t most, int flags, int* fds, size_t max_fds, size_t& fd_count) {
  fd_count = 0;
  io_vector vector{to, most};
  alignas(8) u8 control[256];
  message_header message{};
  message.vectors = &vector;
  message.vector_count = 1;
  message.control = control;
  message.control_size = sizeof control;
  long result;
  do {
    result = kernel(__NR_recvmsg, fd, address(&message), flags | 0x40000000);  // MSG_CMSG_CLOEXEC
  } while (retried(result));
  if (result < 0) return result;
  bool surplus = (message.flags & 8) != 0;  // MSG_CTRUNC
  for (size_t at = 0; at + sizeof(control_header) <= message.control_size;) {
    control_header header;
    memcpy(&header, control + at, sizeof header);
    if (header.size < sizeof header || header.size > message.control_size - at) break;
    if (header.level == 1 && header.type == 1) {
      for (size_t i = sizeof header; i + sizeof(int) <= header.size; i += sizeof(int)) {
        int got;
        memcpy(&got, control + at + i, sizeof got);
        if (fd_count < max_fds) {
          fds[fd_count++] = got;
        } else {
          surplus = true;
          close_fd(got);
        }
      }
    }
    at += (header.size + 7) / 8 * 8;
  }
  if (!surplus) return result;
  for (size_t i = 0; i < fd_count; ++i) close_fd(fds[i]);
  fd_count = 0;
  return -EPROTO;
}

/// A reader for the little-endian values of a frame. When the frame ends too early, `good` becomes false, and all
/// further values are 0.
class reader {
 public:
  reader(const u8* data, size_t size) : at_(data), end_(data + size) {}
  bool good() const { return good_; }
  bool finished() const { return good_ && at_ == end_; }
  template <class T>
  T get() {
    T value = 0;
    if (static_cast<size_t>(end_ - at_) < sizeof(T)) {
      good_ = false;
      at_ = end_;
      return 0;
    }
    __builtin_memcpy(&value, at_, sizeof value);
    at_ += sizeof(T);
    return value;
  }
  /// Returns the next string, which stays in the frame and ends with a NUL; null if it is incomplete or contains a NUL.
  const char* text() {
    const u32 size = get<u32>();
    if (!good_ || static_cast<size_t>(end_ - at_) <= size) return fail();
    const char* result = reinterpret_cast<const char*>(at_);
    for (u32 i = 0; i < size; ++i)
      if (result[i] == 0) return fail();
    if (result[size] != 0) return fail();
    at_ += size + 1;
    return result;
  }

 private:
  const char* fail() {
    good_ = false;
    at_ = end_;
    return nullptr;
  }

  const u8* at_;
  const u8* end_;
  bool good_ = true;
};

/// A writer for little-endian values. The caller makes sure that the buffer is large enough.
class writer {
 public:
  explicit writer(u8* to) : at_(to) {}
  template <class T>
  writer& put(T value) {
    __builtin_memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
    return *this;
  }
  u8* end() const { return at_; }

 private:
  u8* at_;
};

/// Writes a number in decimal digits. Returns the position after them.
inline char* put_number(char* to, u32 value) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count != 0) *to++ = digits[--count];
  return to;
}

inline char* put_text(char* to, const char* text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

/// Reads a decimal number at `at`, and moves `at` to the position after it. Returns false if there is no number.
inline bool take_number(const char*& at, const char* end, u32& value) {
  if (at == end || *at < '0' || *at > '9') return false;
  value = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<u32>(*at - '0');
  return true;
}
