// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>

#include "options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace program {

class progress;

/// A file that --output has copied to this machine.
class saved_file {
 public:
  saved_file(std::string path, std::uint64_t size) : path_(std::move(path)), size_(size) {}
  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::string path_;
  std::uint64_t size_;
};

/// Copies the files of --input into the workspace.
/// \param inside, inputs, shown  the caller keeps them until the awaitable completes.
/// \throws cofferdam::error if a file cannot be copied.
cofferdam::awaitable<void> copy_in(cofferdam::any_environment& inside, const std::vector<copy_option>& inputs,
                                   progress& shown);

/// The outcome of --output.
class saved_files {
 public:
  std::vector<saved_file> files;
  std::vector<std::string> failures;  ///< a sentence for each file that could not be copied
};

/// Copies the files of --output to this machine. Files that cannot be copied are failures in the result.
/// \param inside, outputs, shown  the caller keeps them until the awaitable completes.
cofferdam::awaitable<saved_files> copy_out(cofferdam::any_environment& inside, const std::vector<copy_option>& outputs,
                                           progress& shown);

}  // namespace program
