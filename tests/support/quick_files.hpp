// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/file_system.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cofferdam_test {

/// Files whose operations finish at once and have empty results.
class quick_files final : public cofferdam::file_system::implementation {
 public:
  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string) override {
    co_return cofferdam::directory_entry();
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string, cofferdam::list_options) override {
    co_return std::vector<cofferdam::directory_entry>();
  }
  cofferdam::awaitable<void> make_directory(std::string) override { co_return; }
  cofferdam::awaitable<void> remove(std::string) override { co_return; }
  cofferdam::awaitable<void> rename(std::string, std::string) override { co_return; }
  cofferdam::awaitable<cofferdam::transfer_result> put_files(cofferdam::file_source&) override {
    co_return cofferdam::transfer_result();
  }
  cofferdam::awaitable<std::unique_ptr<cofferdam::file_source>> get_files(
      std::vector<cofferdam::file_request>) override {
    co_return nullptr;
  }
};

}  // namespace cofferdam_test
