// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <cstdint>

/// The wire format between a host (a program that uses this library) and its warden, the helper program in a sandbox.
/// Only constants, for `protocol.hpp` and for the warden's program, which has no standard library. All numbers are
/// little-endian.
///
/// A frame is `u32 length | u8 type | u32 job | payload`, where `length` is the size of the payload. A string is `u32
/// length`, its bytes, and a NUL that `length` does not count. A list of strings is `u32 count` and the strings. A job
/// is a command or a file request. Job 0 is the warden itself. The host chooses the numbers of jobs. A number must not
/// be in use twice at the same time.
namespace cofferdam::inline COFFERDAM_ABI::detail::wire {

inline constexpr std::uint32_t magic = 0x4d444643;  // "CFDM"
inline constexpr std::uint16_t version = 5;
inline constexpr std::size_t header_size = 9;
/// The maximum size of any payload except that of `spawn`.
inline constexpr std::size_t max_payload = 64 * 1024;
/// The maximum size of the payload of `spawn`. Linux accepts at most 6 MiB of arguments (words) and environment
/// variables; the rest is for the other fields.
inline constexpr std::size_t max_spawn = 6 * 1024 * 1024 + 256 * 1024;
/// The maximum number of arguments, environment variables and program paths in a `spawn`, in total.
inline constexpr std::uint32_t max_strings = 256 * 1024;
/// The number of bytes of standard input that the host may send before the first `input_credit`.
inline constexpr std::uint32_t input_window = 64 * 1024;
inline constexpr std::uint32_t keep_id = 0xffffffff;  ///< the value that keeps the user or the group

/// The type of a frame. Types from the warden have bit 7 set. The comments list the payload.
enum class frame_type : std::uint8_t {
  // Frames from the host to the warden.

  /// Job 0, once, as the first frame: u32 flags (configure_flag), u32 lease_ms (the maximum time between two pings,
  /// after which the warden ends everything; 0: no maximum), string root (the directory for file operations; "": none).
  configure = 0x01,
  spawn = 0x02,      ///< starts a command; see spawn_fixed_size for the payload
  input = 0x03,      ///< bytes of standard input, at most those that `input_credit` permits
  input_end = 0x04,  ///< no payload; ends standard input
  signal = 0x05,     ///< u8 scope (signal_scope), u8 number of the signal
  kill = 0x06,       ///< u32 grace_ms; sends SIGTERM to all processes, and SIGKILL after the grace period (0: at once)
  credit = 0x07,     ///< u8 stream (1: output, 2: error output), u32 bytes that the warden may send in addition
  resize = 0x08,     ///< u16 rows, u16 columns of the terminal
  ping = 0x09,       ///< at most 64 bytes, which `pong` returns; renews the lease
  kill_all = 0x0a,   ///< job 0, no payload; sends SIGKILL to all processes of every job
  /// Job 0, no payload. The processes that commands with spawn_keep have left running continue without the warden. The
  /// warden ends everything else, and exits.
  release = 0x0b,

  // File operations. Paths are beneath the root of `configure`. The job is the number of the request. Requests are
  // executed one after another, and answered in this order, each by one `reply` with its number. `reply_data` frames
  // may precede the reply; the host must ignore them if the reply is an error. The requests that wait for their replies
  // may have at most file_window bytes in total. The comment before file_window lists the errors.
  stat = 0x20,  ///< string path; does not follow a link at its end. Reply: an entry
  list = 0x21,  ///< string path, u8 recursive. Data: entries, each followed by its path relative to `path`, as a string
  read = 0x22,  ///< string path, u64 offset, u64 maximum size. Data: bytes. Reply: u64 size of the file, u32 mode
  write = 0x23,  ///< string path, u32 mode (or keep_mode), u8 exclusive; begins a file that has this request's number
  write_data = 0x24,      ///< bytes for the file that `write` has begun with this number; a failure discards the file
  write_commit = 0x25,    ///< no payload; gives the file its name. Reply: u64 size
  write_abort = 0x26,     ///< no payload; discards the file
  make_directory = 0x27,  ///< string path, u32 mode of all new directories; succeeds if the directory exists
  remove = 0x28,          ///< string path; removes the entry and everything beneath it
  rename = 0x29,          ///< string from, string to; replaces a file or an empty directory at `to`
  set_mode = 0x2a,        ///< string path, u32 mode; fails if the path ends in a link
  /// string path, u8 recursive, u32 credit; begins a watch of a directory, which has this request's number until
  /// `watch_end`. The `changes` frames after the reply have the same number. The comment before max_watches explains
  /// more.
  watch = 0x2b,
  /// u32 bytes of `changes` that may be sent in addition; the number is that of the watch. If the credit suffices, the
  /// reply comes behind all changes that have happened before the request was executed.
  watch_credit = 0x2c,
  watch_end = 0x2d,  ///< no payload; ends the watch with this number
  /// string path, u32 mode (or keep_mode), u64 size, string from (an absolute path); moves a regular file that stands
  /// anywhere on the same file system to `path`, as if `write` had written it. ESTALE: there is no such file of this
  /// size at `from`.
  adopt = 0x2e,

  // Connections: TCP sockets in the warden's network namespace, which reach only its loopback interface. A connection
  // or a listening socket has a number of its own kind; it is in the frame's field for the job. The comment before
  // connection_window explains more.
  listen = 0x30,        ///< u16 port (0: a free one), u32 credit of each connection; on 127.0.0.1. Answer: listening
  listen_end = 0x31,    ///< no payload; closes a listening socket
  connect = 0x32,       ///< u16 port, u32 credit; connects to 127.0.0.1, or else to ::1. Answer: connected
  to_guest = 0x33,      ///< bytes for a connection, at most those that `connection_credit` permits
  to_guest_end = 0x34,  ///< no payload; the host sends no more bytes
  drop = 0x35,          ///< no payload; closes a connection at once
  host_credit = 0x36,   ///< u32 bytes that the warden may send in addition

  // Frames from the warden to the host.
  hello = 0x80,   ///< u32 magic, u16 version, u16 machine (ELF e_machine), u32 pid, uid, gid, capabilities, max_jobs
  output = 0x82,  ///< bytes of standard output
  error_output = 0x83,  ///< bytes of standard error
  exited = 0x84,        ///< the end of a command; see exited_size for the payload
  /// The last frame of a job, sent when no process and no output of the command is left: u64 dropped bytes of output,
  /// u64 dropped bytes of error output.
  done = 0x85,
  failed = 0x86,        ///< u8 stage (fail_stage), i32 errno; the last frame of a job whose command was not started
  pong = 0x87,          ///< the bytes of the `ping`
  input_credit = 0x88,  ///< u32 bytes of standard input that the host may send in addition
  /// u32 number of visible processes that SIGKILL has not ended within 2 s. The warden then kills their supervisor (the
  /// process that started the command), too, and continues trying.
  stuck = 0x89,
  /// The last frame of the stream, before the warden kills everything: u8 fault, u8 type of the frame that caused the
  /// fault.
  protocol_error = 0x8a,

  /// Job 0: u32 count. The process for file operations was killed, so the oldest `count` file requests get no reply,
  /// and all watches have ended. The next request starts another process.
  worker_lost = 0x8b,

  reply = 0xa0,       ///< i32 errno (0: success), then the fields listed at the request
  reply_data = 0xa1,  ///< bytes of a file, or whole entries of a list, at most max_payload bytes; a `reply` follows
  /// Whole changes in a watched directory, in their order. Each is: u8 kind (change_kind), u8 1 for a directory, u32
  /// number, string path, string from. The paths are relative to the watched directory.
  changes = 0xa2,

  /// i32 errno (0: success), u16 port, u32 ways out: the number of network interfaces that are up, without the loopback
  /// interface; all bits are set if the number is unknown.
  listening = 0xb0,
  accepted = 0xb1,     ///< u32 number of the new connection; the number of the frame is that of the listening socket
  connected = 0xb2,    ///< i32 errno; without success, the last frame of the connection
  to_host = 0xb3,      ///< bytes of a connection
  to_host_end = 0xb4,  ///< no payload; the guest's program sends no more bytes
  dropped = 0xb5,      ///< i32 errno (0: both directions have ended, or the host has dropped it); the last frame
  connection_credit = 0xb6,  ///< u32 bytes that the host may send in addition
};

/// The kind of a change in a watched directory. Unless the comment mentions them, `number` is 0 and `from` is "".
enum class change_kind : std::uint8_t {
  created = 1,     ///< includes an entry that was moved into the watched directory; a file then counts as written, too
  written = 2,     ///< the content or the size of a file has changed
  removed = 3,     ///< includes an entry that was moved out of the watched directory
  renamed = 4,     ///< `from` is the path before the change
  attributes = 5,  ///< the mode, the owner or a time has changed
  /// Changes are missing here. `number` is 0 if the kernel's queue of events has overflowed (IN_Q_OVERFLOW). Otherwise
  /// it is the errno with which watching the directory `path` has failed; what is beneath it is then not watched.
  lost = 6,
  ended = 7,  ///< the last change: the watched directory itself was removed, moved or replaced; the path is ""
};

/// The fault in a frame from the host, which ends the session.
enum class fault : std::uint8_t { unknown_type = 1, too_long, malformed, unexpected, too_much_input, descriptors };

/// The size of the fixed part of a `spawn` payload: u32 flags (spawn_flag), u32 uid, u32 gid, u64 timeout_ms (0: no
/// limit), u32 grace_ms, u32 linger_ms, u64 output_cap (0: no limit), u32 window, u16 rows, u16 columns. These fields
/// follow: u32 count of limits, each of them `u32 resource, u64 soft, u64 hard`; string directory; three lists of
/// strings: the program paths to try, the arguments, the environment variables.
///
/// `linger_ms` is the time that other processes may continue after the command has ended, before they are killed.
/// `output_cap` is the maximum number of bytes of each stream that are sent; the rest is only counted. `window` is the
/// initial credit of each stream: the number of bytes that the warden may send before the first `credit`.
inline constexpr std::size_t spawn_fixed_size = 4 + 4 + 4 + 8 + 4 + 4 + 8 + 4 + 2 + 2;

enum spawn_flag : std::uint32_t {
  spawn_descriptors = 1,  ///< standard input (only with spawn_open_input), output and error output come as descriptors
  spawn_directory = 2,    ///< the working directory comes as one more descriptor
  spawn_open_input = 4,   ///< standard input stays open, for `input` frames or the host's pipe; without it: /dev/null
  spawn_merge = 8,        ///< error output is sent as output
  spawn_terminal = 16,    ///< the warden makes a terminal for the command; not with spawn_descriptors
  spawn_keep = 32,        ///< other processes may continue after the command has ended
  spawn_scope = 64,       ///< Landlock: no signals and no abstract sockets to processes outside the command
  spawn_no_new_privileges = 128,
  /// Landlock: no tracing of processes outside the command, and no access to their memory, environment and descriptors.
  spawn_domain = 256,
  spawn_filter = 512,           ///< seccomp: the limits and the scheduling of other processes cannot be changed
  spawn_refuse_tracing = 1024,  ///< only with spawn_filter: no process can be traced, not even a descendant
  spawn_all_flags = 2047,
  spawn_needs_no_new_privileges = spawn_scope | spawn_no_new_privileges | spawn_domain | spawn_filter,
};

/// The features of the kernel and of the stream, sent in `hello`.
enum capability : std::uint32_t {
  capability_scope = 1,        ///< Landlock supports scopes (Linux 6.12)
  capability_descriptors = 2,  ///< the stream is a Unix socket, which can carry descriptors
  capability_openat2 = 4,      ///< the kernel has openat2(2); without it, file operations open paths name by name
  capability_children = 8,    ///< the kernel has /proc/PID/task/TID/children; without it, the warden reads all of /proc
  capability_adopts = 32,     ///< orphans become children of a supervisor or the warden; not so in some emulators
  capability_domain = 64,     ///< Landlock supports domains that let files move between directories (Linux 5.19)
  capability_filter = 128,    ///< the kernel supports seccomp filters
  capability_processes = 16,  ///< /proc exists; without it, a process that leaves its group is not found until it ends
};

/// The size of the payload of `exited`: u8 how (exit_how), i32 code, u8 reason (exit_reason), u64 wall_us, u64 user_us,
/// u64 system_us, u64 peak_kib, u32 oom_kills, u8 left. `oom_kills` is the number of processes that the kernel has
/// killed since the command began, because the memory limit of the warden's control group was reached; 0 if `reason`
/// is not `none`. `left` is 1 if other processes of the command continue. With spawn_keep, the warden sends the output
/// that is in the pipes at that time before this frame.
inline constexpr std::size_t exited_size = 1 + 4 + 1 + 8 + 8 + 8 + 8 + 4 + 1;
enum class exit_how : std::uint8_t {
  exited = 0,    ///< code is the exit code, 0 to 255
  signaled = 1,  ///< code is the number of the signal
  lost = 2,      ///< the command's supervisor was killed, so the status is unknown
};
/// The reason why the warden has ended the command; `none` if the command has ended by itself.
enum class exit_reason : std::uint8_t { none = 0, timeout = 1, killed = 2, lease = 3 };

/// The step at which a command could not be started.
enum class fail_stage : std::uint8_t {
  limit = 1,       ///< a limit of the warden: too many jobs, no descriptor or no memory
  supervisor = 2,  ///< no supervisor process could be started
  pipe = 3,
  terminal = 4,
  directory = 5,
  fork = 6,
  descriptors = 7,
  session = 8,
  identity = 9,  ///< setgroups(2), setgid(2), setuid(2)
  limits = 10,   ///< setrlimit(2)
  scope = 11,    ///< Landlock, seccomp or no_new_privs
  exec = 12,
};

/// The processes that get a `signal`: the command itself, its process group, or all of its processes.
enum class signal_scope : std::uint8_t { leader = 0, group = 1, tree = 2 };

/// The flags of `configure`.
enum configure_flag : std::uint32_t {
  configure_component_walk = 1,  ///< file operations open paths name by name even if the kernel has openat2(2)
  configure_identity = 2,        ///< u32 uid and u32 gid follow the root: the user and group of file operations
};

// Error numbers in the reply to a file request, besides those of the kernel:
// - EINVAL: the payload is malformed, there is no root, the path is empty or absolute, or an operation on a name got
//   the root.
// - EXDEV, ELOOP: the path leads out of the root, by `..` or by a link, or has a cycle.
// - ENAMETOOLONG: the path has more than 4095 bytes, a name has more than 255 bytes, or an entry of a list does not fit
//   into a frame.
// - EISDIR: a directory, where a regular file is needed. ENXIO: a FIFO, socket or device, where a regular file is
//   needed.
// - EOPNOTSUPP: the names are on two file systems, or the file system does not support the mode.
// - EFBIG: a list exceeds its limits. EIO: also a tree that was moved while it was listed.
// - EBUSY: the request number already has an unfinished file. EMFILE: too many files are unfinished. EBADF: the request
//   number has no unfinished file.
inline constexpr std::size_t file_window = 512 * 1024;  ///< bytes of unanswered requests, with their headers
inline constexpr std::uint32_t max_unfinished = 8;      ///< files written at the same time, each with its own number
inline constexpr std::uint32_t keep_mode = 0xffffffff;  ///< the mode of the replaced file, or 0644 for a new file
inline constexpr std::uint64_t max_read = 1024 * 1024;  ///< bytes of one `read`; a larger maximum is lowered to this
inline constexpr std::uint64_t max_listed = 4'000'000;  ///< entries of one `list`
inline constexpr std::uint64_t max_listed_bytes = 512ULL * 1024 * 1024;  ///< bytes of these entries, as sent

// Watches. The process for file operations has an inotify instance for each watch. It sends `changes` only while the
// watch has credit; one frame more than the credit may be sent, because frames contain whole changes. Without credit it
// reads no events, so they stay in the kernel's queue. When this is full, the kernel discards events, and `lost` is
// sent in their place.
//
// The two events of a rename are sent as one change. If a watch is recursive, a new directory is watched at once, and
// the entries that were in it by then are sent as created. After `lost`, the tree is read again, so that all of its
// directories are watched; nothing is sent as created for that. Symbolic links are not followed, except in the path of
// the request. Directories that may not be read are not watched. A file that is written by a file operation is sent as
// created and written; its temporary name is not sent.
//
// Errors of `watch`: ENOTDIR for a path that is no directory. EMFILE: the limit of inotify instances of the user.
// ENOSPC: the limit of inotify watches of the user. EUSERS: more than max_watches. EFBIG: more than
// max_watched_directories. EBUSY: the number is that of another watch. watch_credit and watch_end of an unknown watch
// give EBADF.
inline constexpr std::uint32_t max_watches = 64;
inline constexpr std::uint32_t max_watched_directories = 16 * 1024;  ///< of all watches

// Connections. The host chooses the numbers of listening sockets and of the connections that it makes; they are below
// first_accepted, and may be used again after `dropped`, a failed `connected` or a failed `listening`. The warden
// chooses the numbers of the connections that it accepts. The host may send connection_window bytes before the first
// `connection_credit`. Frames for a number that is not in use are ignored: the connection may just have ended. If there
// are max_connections, further connections wait in the kernel's queue of the listening socket.
inline constexpr std::uint32_t first_accepted = 0x80000000;
inline constexpr std::uint32_t max_connections = 512;  ///< with the listening sockets
inline constexpr std::uint32_t connection_window = 128 * 1024;

/// The size of the fixed part of an entry: u8 type (as file_type: regular, directory, symlink, other), u32 mode, u64
/// size, i64 mtime_s, u32 mtime_ns, u32 uid, u32 gid. The string target follows: the target of a symbolic link, "" for
/// any other type and for a link that cannot be read. The `reply` to `stat` has one entry. The `reply_data` of `list`
/// have many, each followed by its name as a string.
inline constexpr std::size_t entry_fixed_size = 1 + 4 + 8 + 8 + 4 + 4 + 4;

}  // namespace cofferdam::inline COFFERDAM_ABI::detail::wire
