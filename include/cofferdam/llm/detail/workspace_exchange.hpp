// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/llm/detail/save_files.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The files that an `agent_session` copies between the host and its environment.
class workspace_exchange {
 public:
  void input(file_set set) { inputs_ = std::move(set); }
  void output(std::filesystem::path directory) { output_ = std::move(directory); }
  void unfinished(std::uint64_t max_bytes) { unfinished_bytes_ = max_bytes; }
  /// Sets a callable that receives the paths of the finished files, in place of an output directory.
  void deliver(std::function<awaitable<transfer_result>(std::vector<std::string> paths)> to) {
    deliver_ = std::move(to);
  }

  /// Copies the input files into the environment, unless an earlier call has done this. Returns their paths in the
  /// workspace.
  /// \throws error{exec_errc::io_error} if a file could not be copied. The next call tries again.
  template <class = void>
  awaitable<std::vector<std::string>> bring_in(any_environment& environment) {
    std::vector<std::string> paths;
    if (!inputs_) co_return paths;
    const transfer_result report = co_await upload(environment, *inputs_);
    if (!report.ok()) throw input_failure(report);
    inputs_.reset();
    for (const transferred_file& each : report.files()) paths.push_back(each.destination());
    co_return paths;
  }

  /// Copies the files that the model has named at the end of its work to the output directory. If there is no output
  /// directory, issues a warning that the files were not copied.
  template <class = void>
  awaitable<transfer_result> save_finished(any_environment& environment, std::vector<std::string> paths) {
    transfer_result saved;
    if (paths.empty()) co_return saved;
    if (deliver_) {
      saved = co_await deliver_(std::move(paths));
      co_return saved;
    }
    if (!output_) {
      warn_of_unsaved(paths);
      co_return saved;
    }
    saved = co_await save_files(environment, std::move(paths), *output_);
    co_return saved;
  }

  /// Copies the workspace of an unfinished run to `unfinished/` in the output directory, if `save_unfinished` was set.
  template <class = void>
  awaitable<transfer_result> save_unfinished(any_environment& environment) {
    transfer_result saved;
    if (!output_ || !unfinished_bytes_) co_return saved;
    saved = co_await save_workspace(environment, *output_ / "unfinished", *unfinished_bytes_);
    co_return saved;
  }

 private:
  static error input_failure(const transfer_result& report) {
    std::string reasons;
    for (const failed_file& each : report.failed())
      if (reasons.size() < 500) reasons += (reasons.empty() ? "" : "; ") + std::string(each.reason().what());
    return error(exec_errc::io_error, "agent_session: input files could not be copied into the workspace: " + reasons,
                 report.failed().front().reason().code());
  }

  static void warn_of_unsaved(const std::vector<std::string>& paths) {
    const std::string sentence = "agent_session: the model finished with " + std::to_string(paths.size()) +
                                 (paths.size() == 1 ? " file (\"" : " files (the first is \"") +
                                 one_line(paths.front(), 100) +
                                 "\"), but no output folder is set, so nothing was copied; set output_dir(), or read "
                                 "the files from the environment before you close it";
    warn(sentence);
  }

  std::optional<file_set> inputs_;
  std::optional<std::filesystem::path> output_;
  std::function<awaitable<transfer_result>(std::vector<std::string> paths)> deliver_;
  std::optional<std::uint64_t> unfinished_bytes_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
