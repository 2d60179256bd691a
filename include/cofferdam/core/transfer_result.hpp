// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {

/// A file that was transferred.
class transferred_file {
 public:
  /// Describes a file. The other members describe the parameters.
  transferred_file(std::string source, std::string destination, std::uint64_t size)
      : source_(std::move(source)), destination_(std::move(destination)), size_(size) {}
  /// Returns the path on the sending side.
  const std::string& source() const& noexcept { return source_; }
  std::string source() && { return std::move(source_); }
  /// Returns the path on the receiving side. In an environment it is relative to the workspace; on the host it is a
  /// path of the host.
  const std::string& destination() const& noexcept { return destination_; }
  std::string destination() && { return std::move(destination_); }
  /// Returns the size in bytes.
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::string source_;
  std::string destination_;
  std::uint64_t size_;
};

/// A file that was not transferred, and the error that prevented it.
class failed_file {
 public:
  /// Describes a file and the error that prevented its transfer.
  failed_file(std::string source, error reason) : source_(std::move(source)), reason_(std::move(reason)) {}
  /// Returns the path on the sending side.
  const std::string& source() const& noexcept { return source_; }
  std::string source() && { return std::move(source_); }
  /// Returns the error that prevented the transfer.
  const error& reason() const& noexcept { return reason_; }
  error reason() && { return std::move(reason_); }

 private:
  std::string source_;
  error reason_;
};

/// The result of a transfer, with one entry for each file. If a file fails, the other files are still transferred, and
/// the failure is reported only here.
class [[nodiscard]] transfer_result {
 public:
  /// Returns true if no file failed.
  bool ok() const noexcept { return failed_.empty(); }
  /// Returns the files that were transferred, in the order of the transfer.
  const std::vector<transferred_file>& files() const& noexcept { return files_; }
  std::vector<transferred_file> files() && { return std::move(files_); }
  /// Returns the files that failed, in the order of the transfer.
  const std::vector<failed_file>& failed() const& noexcept { return failed_; }
  std::vector<failed_file> failed() && { return std::move(failed_); }

  /// Throws the first failure, if any file failed. The message also contains the number of other failed files.
  /// \param doing  the name of the operation, with which the message begins.
  void throw_if_failed(std::string_view doing = "transfer") const {
    if (ok()) return;
    const error& first = failed_.front().reason();
    std::string sentence = std::string(doing) + ": " + first.what();
    if (failed_.size() > 1) sentence += " (and " + std::to_string(failed_.size() - 1) + " more of the files failed)";
    throw error(static_cast<exec_errc>(first.code().value()), std::move(sentence), first.cause());
  }

  /// Adds an entry for one file. Backends use this function.
  void add(transferred_file file) { files_.push_back(std::move(file)); }
  void add(failed_file file) { failed_.push_back(std::move(file)); }

 private:
  std::vector<transferred_file> files_;
  std::vector<failed_file> failed_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
