// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/sandbox_files.hpp>
#include <cofferdam/backends/e2b/file_metadata.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/os/session_files.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The file operations of a sandbox with a warden. The warden does everything but the transfer of large files, for
/// which the file calls of the daemon are faster: they carry bytes as they are, and the stream of a process carries
/// them as base64. A value type; each coroutine that uses it keeps a copy.
class routed_files : public file_system_adaptor<routed_files, cofferdam::detail::no_interface> {
 public:
  /// The size in bytes from which the daemon's file calls transfer a file.
  static constexpr std::size_t large = std::size_t{256} * 1024;

  /// \param near  the files of the warden; null if there is none, so that the daemon's calls do everything.
  /// \param far   the files by the daemon's calls.
  routed_files(std::shared_ptr<session_files> near, sandbox_files far) : near_(std::move(near)), far_(std::move(far)) {}

  template <class Operation>
  auto call(Operation operation) {
    return near_ ? operation(*near_) : operation(far_);
  }

  awaitable<std::string> directory_path(std::string path) {
    return near_ ? near_->directory_path(std::move(path)) : far_.directory_path(std::move(path));
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    if (near_) {
      bool is_large = false;
      bytes content;
      try {
        content = co_await near_->read_file(path, std::min(max_bytes, large));
      } catch (const error& failure) {
        if (failure.code() != exec_errc::too_large || max_bytes <= large) throw;
        is_large = true;
      }
      if (!is_large) co_return content;
    }
    bytes content = co_await far_.read_file(std::move(path), max_bytes);
    co_return content;
  }

  awaitable<void> write_file(std::string path, bytes_view content) {
    return near_ && content.size() <= large ? near_->write_file(std::move(path), content)
                                            : far_.write_file(std::move(path), content);
  }

  // Only the daemon knows the metadata of files.

  awaitable<void> write_file(std::string path, bytes_view content, file_metadata metadata) {
    return far_.write_file(std::move(path), content, std::move(metadata));
  }
  awaitable<file_metadata> metadata_of(std::string path) { return far_.metadata_of(std::move(path)); }
  awaitable<std::map<std::string, file_metadata>> all_metadata(std::string path) {
    return far_.all_metadata(std::move(path));
  }

  awaitable<transfer_result> put_files(file_source& source) {
    if (!near_) return far_.put_files(source);
    return cofferdam::detail::put_each(source,
                                       [this, &source](const file_header& header) { return put_one(source, header); });
  }

  /// Returns a source that reads the requested files one after another. The source owns a copy of this object.
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests);

  /// Returns the source of one requested file.
  awaitable<std::unique_ptr<file_source>> get_one(file_request request) {
    bool is_near = static_cast<bool>(near_);
    if (is_near) {
      try {
        const directory_entry found = co_await near_->stat(request.path());
        is_near = !found.is_regular() || found.size() <= large;
      } catch (const error& failure) {
        if (cofferdam::detail::ends_everything(failure)) throw;
      }
    }
    std::vector<file_request> one;
    one.push_back(std::move(request));
    std::unique_ptr<file_source> source;
    if (is_near)
      source = co_await near_->get_files(std::move(one));
    else
      source = co_await far_.get_files(std::move(one));
    co_return source;
  }

 private:
  /// The current file of another source, as a source of its own.
  class one_file final : public file_source {
   public:
    one_file(file_source& of, file_header header) : of_(of), header_(std::move(header)) {}
    awaitable<std::optional<file_header>> next() override { co_return std::exchange(header_, std::nullopt); }
    awaitable<bytes> read(std::size_t max_bytes) override { return of_.read(max_bytes); }
    std::optional<file_range> take_range() override { return of_.take_range(); }

   private:
    file_source& of_;
    std::optional<file_header> header_;
  };

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) {
    if (header.type() != file_type::directory && header.size() > large) {
      transferred_file done = co_await far_.put_one(source, header);
      co_return done;
    }
    one_file one(source, header);
    transfer_result result = co_await near_->put_files(one);
    if (!result.ok()) throw result.failed().front().reason();
    if (result.files().empty()) co_return transferred_file(header.source(), header.destination(), 0);
    co_return result.files().front();
  }

  std::shared_ptr<session_files> near_;
  sandbox_files far_;
};

/// A source of files of a sandbox, which opens one file after another.
class routed_file_source final : public file_source {
 public:
  routed_file_source(routed_files files, std::vector<file_request> requests)
      : files_(std::move(files)), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    current_.reset();
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& request = requests_[at_++];
    current_ = co_await files_.get_one(request);
    std::optional<file_header> header = co_await current_->next();
    co_return header;
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    if (!current_) co_return bytes();
    bytes piece = co_await current_->read(max_bytes);
    co_return piece;
  }
  std::optional<file_range> take_range() override { return current_ ? current_->take_range() : std::nullopt; }

 private:
  routed_files files_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::unique_ptr<file_source> current_;
};

inline awaitable<std::unique_ptr<file_source>> routed_files::get_files(std::vector<file_request> requests) {
  std::unique_ptr<file_source> source = std::make_unique<routed_file_source>(*this, std::move(requests));
  co_return source;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
