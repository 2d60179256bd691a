// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A consumer of the package that needs all libraries of cofferdam::cofferdam, but few of its headers, so that it
// compiles quickly.

#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/version.hpp>

#include "stranger.hpp"

#include <boost/json/parse.hpp>
#include <boost/url/parse.hpp>

#include <openssl/crypto.h>
#include <openssl/ssl.h>

int main() {
  if (cofferdam::readable_json(boost::json::parse("[1]")) != "[1]") return 1;
  if (!boost::urls::parse_uri("https://example.org/").has_value()) return 1;
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (OpenSSL_version_num() == 0 || context == nullptr) return 1;
  SSL_CTX_free(context);
  return stranger::run();
}
