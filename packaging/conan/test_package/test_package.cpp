// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Runs one command on this machine. With WITH_JSON, it also uses what only cofferdam::cofferdam links.

#include <cofferdam/local.hpp>
#if defined(WITH_JSON)
#include <cofferdam/net/readable_json.hpp>

#include <boost/json/parse.hpp>
#include <boost/url/parse.hpp>

#include <openssl/crypto.h>
#endif

#include <iostream>

using namespace cofferdam;

awaitable<void> hello(local_environment& environment) {
  command_result result = co_await environment.run_command(argv("echo", "hello"));
  std::cout << "cofferdam " << version << ": " << result.out_text();
}

int main() {
#if defined(WITH_JSON)
  if (readable_json(boost::json::parse("[1]")) != "[1]") return 1;
  if (!boost::urls::parse_uri("https://example.org/").has_value() || OpenSSL_version_num() == 0) return 1;
#endif
  return cofferdam::run(with(local().without_warning(), hello));
}
