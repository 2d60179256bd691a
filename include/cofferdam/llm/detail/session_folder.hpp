// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/rethrow_cancellation.hpp>
#include <cofferdam/detail/os/atomic_file.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/llm/chat_message.hpp>
#include <cofferdam/llm/detail/conversation.hpp>
#include <cofferdam/llm/detail/read_json.hpp>
#include <cofferdam/llm/detail/save_files.hpp>
#include <cofferdam/llm/detail/saved_session.hpp>
#include <cofferdam/llm/detail/session_state.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/os/directory.hpp>

#include <boost/json/value.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

// Saves a session with the files of its environment to a folder of the host, for agent_session::save_to() and
// agent_session::resume_from().

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr const char* session_file = "session.json";

[[noreturn]] inline void fail_folder(const std::filesystem::path& folder, const char* doing, int code) {
  const std::error_code cause(code, std::system_category());
  throw error(exec_errc::io_error,
              "agent_session: cannot " + std::string(doing) + " the folder \"" + one_line(folder.string(), 1000) +
                  "\": " + cause.message(),
              cause);
}

/// A new folder beside the folder of a saved session. It replaces that folder when it is complete.
class unfinished_folder {
 public:
  /// \throws error{exec_errc::already_exists} if `folder` has other content than a saved session.
  explicit unfinished_folder(const std::filesystem::path& folder) {
    if (folder.empty() || folder.native().find('\0') != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "agent_session: the path of the folder is empty or contains a NUL byte; name a folder");
    std::error_code failure;
    folder_ = std::filesystem::absolute(folder, failure).lexically_normal();
    if (failure) fail_folder(folder, "find", failure.value());
    if (!folder_.has_filename()) folder_ = folder_.parent_path();
    require_replaceable();
    made_ = folder_;
    made_ += ".new-" + random_name(12);
    if (::mkdir(made_.c_str(), 0700) != 0) fail_folder(made_, "make", errno);
  }
  unfinished_folder(const unfinished_folder&) = delete;
  unfinished_folder& operator=(const unfinished_folder&) = delete;
  ~unfinished_folder() {
    std::error_code ignored;  // at worst, a folder with ".new-" in its name stays
    std::filesystem::remove_all(made_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return made_; }

  /// Puts the new folder in the place of the old one, in one step. The destructor removes the old one.
  void commit() {
    require_replaceable();
    if (::renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_NOREPLACE) == 0) return;
    if (errno != EEXIST && errno != EINVAL) fail_folder(folder_, "make", errno);
    if (::renameat2(AT_FDCWD, made_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) == 0) return;
    // Some file systems can only rename. For a moment, there is no folder then.
    std::filesystem::path old = made_;
    old += "-old";
    if (::rename(folder_.c_str(), old.c_str()) != 0 && errno != ENOENT) fail_folder(folder_, "replace", errno);
    if (::rename(made_.c_str(), folder_.c_str()) != 0) {
      const int code = errno;
      ::rename(old.c_str(), folder_.c_str());
      fail_folder(folder_, "replace", code);
    }
    made_ = old;
  }

 private:
  void require_replaceable() const {
    std::error_code missing;
    const std::filesystem::file_status status = std::filesystem::symlink_status(folder_, missing);
    if (!std::filesystem::exists(status)) return;
    bool is_known = std::filesystem::is_directory(status);
    if (is_known) {
      bool has_session = false;
      bool has_others = false;
      const std::vector<directory_entry> entries = directory::open(folder_).list(".", list_options().depth(1));
      for (const directory_entry& each : entries) {
        const bool is_session = each.path() == session_file && each.is_regular();
        has_session = has_session || is_session;
        has_others = has_others || (!is_session && each.path() != "files");
      }
      is_known = entries.empty() || (has_session && !has_others);
    }
    if (!is_known)
      throw error(exec_errc::already_exists, "agent_session: \"" + one_line(folder_.string(), 1000) +
                                                 "\" is not a saved session, so it is not replaced; choose another "
                                                 "folder");
  }

  std::filesystem::path folder_;
  std::filesystem::path made_;
};

/// Does the work of `agent_session::save_to`.
template <class = void>
awaitable<void> save_to_folder(session_state& state, std::filesystem::path folder, std::uint64_t max_bytes) {
  if (state.running) throw error(exec_errc::invalid_argument, "agent_session: save_to cannot be called during a run");
  try {
    const boost::json::object saved = save_session(state.history, state.scope->total);
    unfinished_folder target(folder);
    const transfer_result copied = co_await save_workspace(state.environment, target.path() / "files", max_bytes);
    copied.throw_if_failed("agent_session: save_to");
    atomic_file file = directory::open(target.path()).create_file(session_file);
    file.write(as_bytes(readable_json(saved)));
    file.commit(0600U);
    target.commit();
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    rethrow_cancellation(failure, "agent_session: save_to was cancelled; the folder is unchanged");
  }
}

/// Opens the files of a saved session; returns null if its workspace was empty.
/// \throws error{exec_errc::invalid_argument} if something else is at the place of their directory. A link there may
///     lead to any directory of the host, so it is not followed.
inline std::shared_ptr<const directory> saved_files(const directory& folder) {
  try {
    return std::make_shared<const directory>(folder.subdirectory("files", link_policy::refuse));
  } catch (const error& failure) {
    if (failure.code() == exec_errc::not_found) return nullptr;
    if (failure.code() != exec_errc::not_a_directory) throw;
    throw error(exec_errc::invalid_argument, "agent_session: \"files\" of the saved session is not a directory",
                failure.cause());
  }
}

/// Does the work of `agent_session::resume_from`.
template <class = void>
awaitable<void> resume_from_folder(session_state& state, std::filesystem::path folder) {
  if (state.running)
    throw error(exec_errc::invalid_argument, "agent_session: resume_from cannot be called during a run");
  constexpr std::size_t max_session = std::size_t{1} << 30U;
  const directory inside = directory::open(folder);
  const bytes content = inside.read_file(session_file, max_session);
  const std::optional<boost::json::value> saved = read_json(as_text(content));
  if (!saved) throw error(exec_errc::invalid_argument, "agent_session: the saved session is not JSON");
  conversation history;
  chat_usage usage;
  resume_session(*saved, history, usage);
  if (std::shared_ptr<const directory> files = saved_files(inside)) {
    const files_getter workspace = [&state] { return files_of(state.environment); };
    const transfer_result copied = co_await upload_tree_to(workspace, std::move(files), (folder / "files").string());
    copied.throw_if_failed("agent_session: resume_from");
  }
  state.history = std::move(history);
  state.scope->total = usage;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
