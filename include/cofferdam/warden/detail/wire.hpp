// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <cstdint>

/// The wire format between a host and its warden. Only constants, shared by `protocol.hpp` and by the program, which
/// has no standard library. Everything is little-endian.
///
/// A frame is `u32 length | u8 type | u32 job | payload`, where `length` counts the payload. A string is `u32 length`,
/// its bytes, and a NUL that the length does not count; a list of strings is `u32 count` and the strings. Job 0 is the
/// warden itself. The host numbers its jobs and requests as it likes, each number once at a time.
namespace cofferdam::inline COFFERDAM_ABI::detail::wire {

inline constexpr std::uint32_t magic = 0x4d444643;  // "CFDM"
inline constexpr std::uint16_t version = 2;
inline constexpr std::size_t header_size = 9;
/// The maximum size of any payload except that of `spawn`.
inline constexpr std::size_t max_payload = 64 * 1024;
/// Linux accepts at most 6 MiB of words and variables; the rest is for the other fields.
inline constexpr std::size_t max_spawn = 6 * 1024 * 1024 + 256 * 1024;
/// The maximum number of words, variables and paths to try, in total.
inline constexpr std::uint32_t max_strings = 256 * 1024;
/// The bytes of standard input that a job may receive before the first `input_credit`.
inline constexpr std::uint32_t input_window = 64 * 1024;
inline constexpr std::uint32_t keep_id = 0xffffffff;  ///< no change of uid or gid

/// The type of a frame. Bit 7 is set in frames from the warden.
enum class frame_type : std::uint8_t {
  // host to warden
  configure =
      0x01,      ///< job 0, once, first: u32 flags, u32 lease_ms (0: none), string root ("": none); see configure_flag
  spawn = 0x02,  ///< see spawn_flag
  input = 0x03,  ///< bytes, within the credit
  input_end = 0x04,  ///< nothing
  signal = 0x05,     ///< u8 scope, u8 number
  kill = 0x06,       ///< u32 grace_ms: SIGTERM to all, the grace, SIGKILL; without a grace SIGKILL at once
  credit = 0x07,     ///< u8 stream (1 or 2), u32 bytes more
  resize = 0x08,     ///< u16 rows, u16 columns
  ping = 0x09,       ///< at most 64 bytes, which come back; renews the lease
  kill_all = 0x0a,   ///< job 0: `kill` without grace for every job

  // File operations, beneath the root of `configure`, one after another. At most file_window bytes of requests may wait
  // for their answers. Each frame is answered by one `reply` with its number, in the order of the requests.
  // `reply_data` may precede the reply; ignore it if the reply is an error. Errors and limits are documented at
  // max_unfinished.
  stat = 0x20,            ///< string path; a link at its end is not followed. Reply: an entry
  list = 0x21,            ///< string path, u8 recursive. Data: entries, each with its path from there as a string
  read = 0x22,            ///< string path, u64 offset, u64 most. Data: bytes; reply: u64 size of the file, u32 mode
  write = 0x23,           ///< string path, u32 mode (or keep_mode), u8 exclusive: begins the file of this number
  write_data = 0x24,      ///< bytes. If they cannot be written, the file is discarded
  write_commit = 0x25,    ///< nothing: the file takes its name. Reply: u64 size
  write_abort = 0x26,     ///< nothing: the file goes
  make_directory = 0x27,  ///< string path, u32 mode of all new directories; no error if it exists
  remove = 0x28,          ///< string path, with all that is beneath
  rename = 0x29,          ///< string from, string to; replaces a file there, or an empty directory
  set_mode = 0x2a,        ///< string path, u32 mode; a link at its end is refused

  // warden to host
  hello = 0x80,   ///< u32 magic, u16 version, u16 machine (ELF e_machine), u32 pid, uid, gid, capabilities, max_jobs
  output = 0x82,  ///< bytes
  error_output = 0x83,  ///< bytes
  exited = 0x84,        ///< see exit_how
  done = 0x85,          ///< u64 dropped bytes of output, u64 of error output: nothing of the job is left
  failed = 0x86,        ///< u8 fail_stage, i32 errno: nothing ran
  pong = 0x87,          ///< what `ping` held
  input_credit = 0x88,  ///< u32 bytes more
  /// u32 number of visible processes that SIGKILL has not ended within 2 s; the supervisor is killed too, and the
  /// warden keeps trying
  stuck = 0x89,
  protocol_error = 0x8a,  ///< u8 wire_fault, u8 type of the frame: the last frame; everything is killed

  worker_lost =
      0x8b,  ///< job 0: u32 count: that many of the oldest file requests have no answer; the next request starts afresh

  reply = 0xa0,       ///< i32 errno (0: done), then the fields given at the request
  reply_data = 0xa1,  ///< bytes of a file, or whole entries of a list, at most max_payload; `reply` follows
};

enum class fault : std::uint8_t { unknown_type = 1, too_long, malformed, unexpected, too_much_input, descriptors };

/// The fixed part of `spawn`: u32 flags, u32 uid, u32 gid, u64 timeout_ms (0: none), u32 grace_ms, u32 linger_ms, u64
/// output_cap (0: none), u32 window, u16 rows, u16 columns. Then u32 count of limits, each `u32 resource, u64 soft, u64
/// hard`; string directory; lists: paths to try, words, variables.
///
/// `linger_ms`: time for which processes may continue after the end of their command, before they are killed.
/// `output_cap`: maximum bytes of each stream that are sent; the rest is counted. `window`: the first credit of each
/// stream.
inline constexpr std::size_t spawn_fixed_size = 4 + 4 + 4 + 8 + 4 + 4 + 8 + 4 + 2 + 2;

enum spawn_flag : std::uint32_t {
  spawn_descriptors = 1,  ///< descriptors come with the frame: standard input (if it is open), output, error
  spawn_directory = 2,    ///< one more descriptor comes: the working directory
  spawn_open_input = 4,   ///< keep standard input open for `input`, or for the host's pipe; else it is /dev/null
  spawn_merge = 8,        ///< error output goes to the output
  spawn_terminal = 16,    ///< a terminal, made by the warden; without `spawn_descriptors`
  spawn_keep = 32,        ///< remaining processes may continue after the command's end
  spawn_scope = 64,       ///< Landlock: no signals and no abstract sockets to processes outside
  spawn_no_new_privileges = 128,
  /// Landlock: no tracing of processes outside, and no access to their memory, environment and descriptors
  spawn_domain = 256,
  spawn_filter = 512,           ///< seccomp: limits of other processes cannot be changed
  spawn_refuse_tracing = 1024,  ///< with spawn_filter: no tracing at all, not even of own descendants
  spawn_all_flags = 2047,
  spawn_needs_no_new_privileges = spawn_scope | spawn_no_new_privileges | spawn_domain | spawn_filter,
};

/// The features of the kernel, sent in `hello`.
enum capability : std::uint32_t {
  capability_scope = 1,        ///< Landlock with scopes (6.12)
  capability_descriptors = 2,  ///< the stream is a socket that carries descriptors
  capability_openat2 = 4,      ///< else file operations walk component by component
  capability_children = 8,     ///< /proc/PID/task/TID/children; else all of /proc is read
  capability_adopts = 32,      ///< orphans of a command become our children; else (some emulators) orphans are lost
  capability_domain = 64,      ///< Landlock whose domains let files move between directories (5.19)
  capability_filter = 128,     ///< seccomp takes filters
  capability_processes = 16,   ///< /proc exists; without it a process that leaves its group is not seen until it ends
};

/// `exited`: u8 how, i32 code, u8 reason, u64 wall_us, u64 user_us, u64 system_us, u64 peak_kib, u32 oom_kills, u8
/// left. If some processes continue (`spawn_keep`), the output that was in the pipes at that time was sent before this
/// frame.
inline constexpr std::size_t exited_size = 1 + 4 + 1 + 8 + 8 + 8 + 8 + 4 + 1;
enum class exit_how : std::uint8_t {
  exited = 0,    ///< code: 0 to 255
  signaled = 1,  ///< code: the signal
  lost = 2,      ///< its supervisor was killed, so the status is unknown
};
/// The reason for which the warden has ended it, if any.
enum class exit_reason : std::uint8_t { none = 0, timeout = 1, killed = 2, lease = 3 };

enum class fail_stage : std::uint8_t {
  limit = 1,       ///< the warden's own: too many jobs, no descriptor, no memory
  supervisor = 2,  ///< no process for the supervisor
  pipe = 3,
  terminal = 4,
  directory = 5,
  fork = 6,
  descriptors = 7,
  session = 8,
  identity = 9,  ///< setgroups, setgid, setuid
  limits = 10,   ///< setrlimit
  scope = 11,    ///< Landlock, seccomp, no_new_privs
  exec = 12,
};

/// The processes to which `signal` sends.
enum class signal_scope : std::uint8_t { leader = 0, group = 1, tree = 2 };

/// The flags of `configure`.
enum configure_flag : std::uint32_t {
  configure_component_walk = 1,  ///< file operations walk component by component even if the kernel has openat2
  configure_identity = 2,        ///< u32 uid, u32 gid follow: the user of file operations
};

// Error numbers in a file's `reply`, besides those of the kernel. EINVAL: the payload is malformed, there is no root,
// the path is empty or absolute, or the root itself is given for an operation on a name. EXDEV, ELOOP: the path leads
// out, by `..` or by a link, or has a cycle. ENAMETOOLONG: more than 4095 bytes, or 255 in one name; also an entry of a
// list that does not fit a frame. EISDIR, ENXIO: a directory; a FIFO, socket or device, where a regular file is needed.
// EOPNOTSUPP: two file systems, or a mode that cannot be set here. EFBIG: a list beyond its limits. EIO: also a tree
// that was moved while it was listed. EBUSY: the number has an unfinished file. EMFILE: too many have. EBADF: this one
// has none.
inline constexpr std::size_t file_window = 512 * 1024;                   ///< of requests, with their headers
inline constexpr std::uint32_t max_unfinished = 8;                       ///< files at a time, each with its number
inline constexpr std::uint32_t keep_mode = 0xffffffff;                   ///< that of the file replaced, else 0644
inline constexpr std::uint64_t max_read = 1024 * 1024;                   ///< bytes of one `read`; more is cut
inline constexpr std::uint64_t max_listed = 4'000'000;                   ///< entries of one `list`
inline constexpr std::uint64_t max_listed_bytes = 512ULL * 1024 * 1024;  ///< the same in bytes, as they are sent

/// An entry: u8 type (as file_type: regular, directory, symlink, other), u32 mode, u64 size, i64 mtime_s, u32 mtime_ns.
/// `reply` to `stat` has one; `reply_data` of `list` has many, each followed by its name as a string.
inline constexpr std::size_t entry_fixed_size = 1 + 4 + 8 + 8 + 4;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail::wire
