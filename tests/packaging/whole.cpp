// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A consumer of the package that uses the whole library, with the umbrella header or the single header.

#include <cofferdam/cofferdam.hpp>

#include "stranger.hpp"

#include <boost/json/parse.hpp>
#include <boost/url/parse.hpp>

#include <openssl/crypto.h>

int main() {
  const auto value = boost::json::parse("[1]");
  const auto url = boost::urls::parse_uri("https://example.org/");
  if (!value.is_array() || !url.has_value() || OpenSSL_version_num() == 0) return 1;
  if (cofferdam::readable_json(value) != "[1]") return 1;
  return stranger::run();
}
