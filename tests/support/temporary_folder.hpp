// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam_test {

/// A new folder for a test. The destructor removes the folder with its content. Uses no code of the library, because
/// the library is under test.
class temporary_folder {
 public:
  temporary_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = std::filesystem::canonical(pattern);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  /// Writes a file, and creates the missing folders of its path.
  std::filesystem::path write(std::string_view name, std::string_view content, unsigned mode = 0644) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream stream(file, std::ios::binary);
    stream << content;
    stream.close();
    if (!stream || ::chmod(file.c_str(), mode) != 0) throw std::runtime_error("cannot write " + file.string());
    return file;
  }

  std::filesystem::path make_folder(std::string_view name) const {
    std::filesystem::create_directories(path_ / name);
    return path_ / name;
  }

  void make_link(std::string_view name, std::string_view target) const {
    if (::symlink(std::string(target).c_str(), (path_ / name).c_str()) != 0) throw std::runtime_error("symlink failed");
  }

  void make_fifo(std::string_view name) const {
    if (::mkfifo((path_ / name).c_str(), 0666) != 0) throw std::runtime_error("mkfifo failed");
  }

  /// Returns the content of a file, read by a plain open() that follows links.
  std::string read(std::string_view name) const { return read_host(path_ / name); }

  static std::string read_host(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }

  unsigned mode(std::string_view name) const {
    struct stat status {};
    if (::lstat((path_ / name).c_str(), &status) != 0) throw std::runtime_error("lstat failed");
    return status.st_mode & 07777U;
  }

  bool has(std::string_view name) const {
    struct stat status {};
    return ::lstat((path_ / name).c_str(), &status) == 0;
  }

 private:
  std::filesystem::path path_;
};

/// Returns the number of open descriptors of this process. The descriptor that the count itself uses is included.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace cofferdam_test
