// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0 {

/// One file that arrived.
class transferred_file {
 public:
  transferred_file(std::string source, std::string destination, std::uint64_t size)
      : source_(std::move(source)), destination_(std::move(destination)), size_(size) {}
  /// Where it came from, as its side names it.
  const std::string& source() const noexcept { return source_; }
  /// Where it is now, as its side names it: relative to the workspace inside, a host path outside.
  const std::string& destination() const noexcept { return destination_; }
  /// Bytes.
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::string source_;
  std::string destination_;
  std::uint64_t size_;
};

/// One file that did not arrive, and why.
class failed_file {
 public:
  failed_file(std::string source, error reason) : source_(std::move(source)), reason_(std::move(reason)) {}
  const std::string& source() const noexcept { return source_; }
  const error& reason() const noexcept { return reason_; }

 private:
  std::string source_;
  error reason_;
};

/// What became of every file that was to be moved: a failure of one does not stop the others, and is told here only.
class [[nodiscard]] transfer {
 public:
  /// Nothing failed.
  bool ok() const noexcept { return failed_.empty(); }
  const std::vector<transferred_file>& files() const noexcept { return files_; }
  const std::vector<failed_file>& failed() const noexcept { return failed_; }

  /// Throws the first failure, and says how many more there are.
  /// \param doing  begins the sentence.
  void throw_if_failed(std::string_view doing = "transfer") const {
    if (ok()) return;
    const error& first = failed_.front().reason();
    std::string sentence = std::string(doing) + ": " + first.what();
    if (failed_.size() > 1) sentence += " (and " + std::to_string(failed_.size() - 1) + " more of the files failed)";
    throw error(static_cast<errc>(first.code().value()), std::move(sentence), first.cause());
  }

  void add(transferred_file file) { files_.push_back(std::move(file)); }
  void add(failed_file file) { failed_.push_back(std::move(file)); }

 private:
  std::vector<transferred_file> files_;
  std::vector<failed_file> failed_;
};

}  // namespace cofferdam::inline v0
