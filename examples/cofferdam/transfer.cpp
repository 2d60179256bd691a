// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "transfer.hpp"

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>

#include "options.hpp"
#include "progress.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace program {

using namespace cofferdam;

/// Environments whose transfers are shown. A namespace with a name, because g++ warns of coroutine templates over types
/// of a namespace without one.
namespace showing {

/// A source of files that shows the progress of its receiver, and may give a single file another name.
class shown_source final : public file_source {
 public:
  /// \param renamed  the destination of the only file; empty: as `inner` says.
  shown_source(file_source& inner, progress& shown, const char* doing, std::string renamed)
      : inner_(inner), shown_(shown), doing_(doing), renamed_(std::move(renamed)) {}

  awaitable<std::optional<file_header>> next() override {
    std::optional<file_header> header = co_await inner_.next();
    if (!header || header->failure()) co_return header;
    name_ = doing_ + header->source();
    done_ = 0;
    total_ = header->size();
    if (!renamed_.empty() && header->type() == file_type::regular)
      header.emplace(header->source(), renamed_, header->type(), header->size(), header->mode());
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    bytes piece = co_await inner_.read(max_bytes);
    done_ += piece.size();
    if (!piece.empty()) shown_.show(name_, done_, total_);
    co_return piece;
  }

  // A range would be sent in one piece, about which there is nothing to show.
  std::optional<file_range> take_range() override {
    if (shown_.is_shown()) return std::nullopt;
    return inner_.take_range();
  }

 private:
  file_source& inner_;
  progress& shown_;
  std::string doing_;
  std::string renamed_;
  std::string name_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

/// The same for files that come from an environment.
class shown_download final : public file_source {
 public:
  shown_download(std::unique_ptr<file_source> inner, progress& shown)
      : inner_(std::move(inner)), shown_(*inner_, shown, "downloading ", std::string()) {}
  awaitable<std::optional<file_header>> next() override { return shown_.next(); }
  awaitable<bytes> read(std::size_t max_bytes) override { return shown_.read(max_bytes); }
  std::optional<file_range> take_range() override { return shown_.take_range(); }

 private:
  std::unique_ptr<file_source> inner_;
  shown_source shown_;
};

/// The files of an environment, with transfers that are shown.
class shown_files final : public file_system_adaptor<shown_files> {
 public:
  shown_files(file_system inner, progress& shown, std::string renamed)
      : inner_(std::move(inner)), shown_(shown), renamed_(std::move(renamed)) {}

  template <class Operation>
  auto call(Operation operation) {
    return operation(inner_);
  }

  awaitable<transfer_result> put_files(file_source& source) override {
    shown_source counted(source, shown_, "uploading ", renamed_);
    transfer_result report = co_await inner_.put_files(counted);
    co_return report;
  }

  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) override {
    std::unique_ptr<file_source> source = co_await inner_.get_files(std::move(requests));
    auto counted = std::make_unique<shown_download>(std::move(source), shown_);
    co_return std::move(counted);
  }

 private:
  file_system inner_;
  progress& shown_;
  std::string renamed_;
};

/// An environment whose transfers are shown. It refers to another environment, which stays open.
class shown_environment {
 public:
  shown_environment(any_environment& inner, progress& shown, std::string renamed)
      : inner_(&inner), files_(std::make_shared<shown_files>(inner.files(), shown, std::move(renamed))) {}

  awaitable<command_result> run_command(command c) { return inner_->run_command(std::move(c)); }
  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    return inner_->read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    return inner_->write_file(std::move(path), content);
  }
  file_system files() { return file_system(files_); }
  awaitable<void> close() { co_return; }

 private:
  any_environment* inner_;
  std::shared_ptr<shown_files> files_;
};

}  // namespace showing

namespace {

/// A folder of this machine that is removed with the object. It stands beside the file that it is for.
class staging_folder {
 public:
  explicit staging_folder(const std::filesystem::path& parent) {
    std::string name = (parent / ".cofferdam-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw error(exec_errc::io_error,
                  "--output: no folder can be made in " + parent.string() + "; choose another HOST",
                  std::error_code(errno, std::generic_category()));
    path_ = name;
  }
  staging_folder(const staging_folder&) = delete;
  staging_folder& operator=(const staging_folder&) = delete;
  ~staging_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Returns true if the path is a regular file of the workspace.
awaitable<bool> is_file(any_environment& inside, std::string path) {
  try {
    directory_entry entry = co_await inside.files().stat(std::move(path));
    co_return entry.is_regular();
  } catch (const error& failure) {
    if (failure.code() == exec_errc::cancelled || failure.code() == exec_errc::provider_lost) throw;
  }
  co_return false;
}

awaitable<transfer_result> download_shown(any_environment& inside, file_set set, std::filesystem::path folder,
                                          progress& shown) {
  showing::shown_environment source(inside, shown, std::string());
  transfer_result report = co_await download(source, std::move(set), std::move(folder));
  co_return report;
}

void add_to(saved_files& saved, const transfer_result& report) {
  for (const transferred_file& file : report.files()) saved.files.emplace_back(file.destination(), file.size());
  for (const failed_file& file : report.failed())
    saved.failures.push_back(std::string("--output: ") + file.reason().what());
}

/// Copies one file of the workspace to a file of this machine that has another name.
awaitable<void> save_as(any_environment& inside, copy_option output, progress& shown, saved_files& saved) {
  const std::filesystem::path target(output.to);
  const std::filesystem::path parent = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  std::filesystem::create_directories(parent);
  const staging_folder staging(parent);
  file_set set;
  set.exactly(output.from);
  transfer_result report = co_await download_shown(inside, std::move(set), staging.path(), shown);
  if (!report.ok()) {
    add_to(saved, report);
    co_return;
  }
  for (const transferred_file& file : report.files()) {
    std::filesystem::rename(file.destination(), target);
    saved.files.emplace_back(target.string(), file.size());
  }
}

awaitable<void> save(any_environment& inside, copy_option output, progress& shown, saved_files& saved) {
  std::error_code ignored;
  if (!output.to.empty() && !output.to.ends_with('/') && !std::filesystem::is_directory(output.to, ignored)) {
    const bool is_one_file = co_await is_file(inside, output.from);
    if (is_one_file) {
      co_await save_as(inside, std::move(output), shown, saved);
      co_return;
    }
  }
  file_set set = cofferdam::files(output.from);
  const std::filesystem::path folder = output.to.empty() ? std::string(".") : output.to;
  transfer_result report = co_await download_shown(inside, std::move(set), folder, shown);
  add_to(saved, report);
}

}  // namespace

awaitable<void> copy_in(any_environment& inside, const std::vector<copy_option>& inputs, progress& shown) {
  for (copy_option input : inputs) {
    std::error_code ignored;
    // A colon may belong to the name of a file.
    const std::string whole = input.from + ":" + input.to;
    if (!input.to.empty() && !std::filesystem::exists(input.from, ignored) && std::filesystem::exists(whole, ignored)) {
      input.from = whole;
      input.to.clear();
    }
    file_set set;
    std::string renamed;
    if (!input.to.empty() && !input.to.ends_with('/') && std::filesystem::is_regular_file(input.from, ignored)) {
      set.exactly(input.from);
      renamed = input.to;
    } else {
      set.add(input.from);
      while (input.to.size() > 1 && input.to.ends_with('/')) input.to.pop_back();
      if (!input.to.empty()) set.into(input.to);
    }
    showing::shown_environment target(inside, shown, std::move(renamed));
    transfer_result report = co_await upload(target, std::move(set));
    report.throw_if_failed("--input");
  }
  shown.clear();
}

awaitable<saved_files> copy_out(any_environment& inside, const std::vector<copy_option>& outputs, progress& shown) {
  saved_files saved;
  for (const copy_option& output : outputs) {
    std::string failure;
    try {
      co_await save(inside, output, shown, saved);
    } catch (const error& wrong) {
      if (wrong.code() == exec_errc::cancelled || wrong.code() == exec_errc::provider_lost) throw;
      failure = wrong.what();
    } catch (const std::filesystem::filesystem_error& wrong) {
      failure = wrong.what();
    }
    if (!failure.empty()) saved.failures.push_back("--output: " + failure);
  }
  shown.clear();
  co_return saved;
}

}  // namespace program
