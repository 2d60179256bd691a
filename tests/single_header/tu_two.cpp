// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/cofferdam.hpp>

#include <string>
#include <system_error>
#include <vector>

std::string version_seen_by_the_other_file();
std::vector<const std::error_category*> categories_seen_by_the_other_file();

std::string version_seen_by_the_other_file() { return std::string(cofferdam::version); }

std::vector<const std::error_category*> categories_seen_by_the_other_file() {
  return {&cofferdam::error_category(),
          &cofferdam::net_error_category(),
          &cofferdam::chat_error_category(),
          &cofferdam::docker::detail::http_status_category(),
          &cofferdam::e2b::detail::status_category(),
          &cofferdam::e2b::sandbox_category()};
}
