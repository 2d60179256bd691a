// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "../../examples/custom_backend.hpp"

#include <cofferdam/testing/provider_conformance.hpp>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>

namespace cofferdam_test {

/// A folder for each environment: the recipe of the example is given one, the suite wants a fresh one each time.
class fresh_folder_provider {
 public:
  cofferdam::awaitable<folder_environment> open() const {
    std::string pattern = (std::filesystem::temp_directory_path() / "cofferdam-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for the test");
    folders_->add(pattern);
    folder_provider recipe(pattern);
    folder_environment environment = co_await recipe.open();
    co_return environment;
  }

 private:
  class folders {
   public:
    void add(std::filesystem::path folder) { all_.push_back(std::move(folder)); }
    ~folders() {
      std::error_code ignored;  // a test's temporary folder
      for (const std::filesystem::path& folder : all_) std::filesystem::remove_all(folder, ignored);
    }

   private:
    std::vector<std::filesystem::path> all_;
  };

  std::shared_ptr<folders> folders_ = std::make_shared<folders>();
};

class custom {
 public:
  static auto provider() { return fresh_folder_provider(); }
};

}  // namespace cofferdam_test

namespace cofferdam::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(custom, command_conformance, cofferdam_test::custom);
INSTANTIATE_TYPED_TEST_SUITE_P(custom, file_conformance, cofferdam_test::custom);
INSTANTIATE_TYPED_TEST_SUITE_P(custom, lifetime_conformance, cofferdam_test::custom);

}  // namespace cofferdam::testing
