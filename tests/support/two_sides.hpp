// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/copy_files.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>

#include "support/plain_environment.hpp"
#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// The two kinds of environment that the file tests run on. This kind transfers many files in one operation;
/// `one_by_one` has only the four required members.
class in_one_trip {
 public:
  static cofferdam::local provider(const std::filesystem::path& workspace) {
    return cofferdam::local().workspace(workspace).without_warning();
  }
};
/// The kind of environment that transfers one file at a time, because it has only the four required members.
class one_by_one {
 public:
  static plain_provider<cofferdam::local> provider(const std::filesystem::path& workspace) {
    return plain_provider<cofferdam::local>(in_one_trip::provider(workspace));
  }
};
using BothKinds = ::testing::Types<in_one_trip, one_by_one>;

/// A fixture with a host folder, two workspaces and a folder outside them. The test inspects all of them directly.
/// `outside_` holds a canary file that must not change.
template <class Kind>
class two_sides : public ::testing::Test {
 protected:
  two_sides() {
    outside_.write("canary", "untouched");
    outside_.write("secret/key", "secret");
  }
  ~two_sides() override {
    EXPECT_EQ(outside_.read("canary"), "untouched");
    EXPECT_EQ(outside_.read("secret/key"), "secret");
    EXPECT_EQ(
        std::distance(std::filesystem::directory_iterator(outside_.path()), std::filesystem::directory_iterator()), 2);
  }

  std::string on_host(std::string_view name) const { return (host_ / name).string(); }

  cofferdam::transfer_result upload(cofferdam::file_set set) {
    return run([&]() -> cofferdam::awaitable<cofferdam::transfer_result> {
      return cofferdam::with(Kind::provider(work_.path()),
                             [&](auto& environment) { return cofferdam::upload(environment, std::move(set)); });
    });
  }
  cofferdam::transfer_result download(cofferdam::file_set set) { return download_to(std::move(set), out_.path()); }
  cofferdam::transfer_result download_to(cofferdam::file_set set, const std::filesystem::path& destination) {
    return run([&]() -> cofferdam::awaitable<cofferdam::transfer_result> {
      return cofferdam::with(Kind::provider(work_.path()), [&](auto& environment) {
        return cofferdam::download(environment, std::move(set), destination);
      });
    });
  }
  cofferdam::transfer_result copy(cofferdam::file_set set) {
    return run([&]() -> cofferdam::awaitable<cofferdam::transfer_result> {
      return cofferdam::with(Kind::provider(work_.path()), [&](auto& from) {
        return cofferdam::with(Kind::provider(second_.path()),
                               [&](auto& to) { return cofferdam::copy_files(from, to, std::move(set)); });
      });
    });
  }

  temporary_folder host_;
  temporary_folder work_;
  temporary_folder second_;
  temporary_folder out_;
  temporary_folder outside_;
};

/// Lists a folder in sorted order: files as `a/b=content`, directories as `a/`, links as `a->target`.
inline std::vector<std::string> tree(const temporary_folder& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().lexically_relative(folder.path()).string();
    if (entry.is_symlink())
      found.push_back(name + "->" + std::filesystem::read_symlink(entry.path()).string());
    else if (entry.is_directory())
      found.push_back(name + "/");
    else if (entry.is_regular_file())
      found.push_back(name + "=" + temporary_folder::read_host(entry.path()));
    else
      found.push_back(name + "?");
  }
  std::sort(found.begin(), found.end());
  return found;
}

using names = std::vector<std::string>;

inline cofferdam::exec_errc code_of(const cofferdam::failed_file& file) {
  return static_cast<cofferdam::exec_errc>(file.reason().code().value());
}

/// Returns the error code of the only file that was not transferred. Fails the test if the number of failed files is
/// not one.
inline cofferdam::exec_errc only_failure(const cofferdam::transfer_result& report) {
  EXPECT_EQ(report.failed().size(), 1U);
  if (report.failed().empty()) return cofferdam::exec_errc{};
  EXPECT_FALSE(std::string_view(report.failed().front().reason().what()).empty());
  return code_of(report.failed().front());
}

/// Returns the `errc` of the `cofferdam::error` that a call throws.
template <class F>
cofferdam::exec_errc thrown_by(F&& doing) {
  try {
    doing();
  } catch (const cofferdam::error& failure) {
    return static_cast<cofferdam::exec_errc>(failure.code().value());
  }
  ADD_FAILURE() << "nothing was thrown";
  return cofferdam::exec_errc{};
}

}  // namespace cofferdam_test
