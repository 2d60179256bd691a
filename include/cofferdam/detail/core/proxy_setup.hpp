// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The files in which systems keep the certificates of the authorities that they trust.
inline constexpr std::string_view root_files[] = {"/etc/ssl/certs/ca-certificates.crt",
                                                  "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                                  "/etc/ssl/cert.pem"};

/// Writes the standard input, behind the roots that the place has, to the file $1. Prints the name of the roots' file;
/// nothing if there is none.
inline constexpr std::string_view bundle_script = R"sh(umask 022
f=$1; shift
for r in "$@" ''; do [ -s "$r" ] && break; done
mkdir -p "${f%/*}" && rm -f "$f" && { [ -z "$r" ] || cat "$r"; cat; } >"$f" && chmod 444 "$f" && printf %s "$r")sh";

/// Makes the programs of an environment use a proxy; see `guest_network::use_proxy`. Runs on the environment's strand.
/// `State` has two members: `static awaitable<command_result> run(std::shared_ptr<State>, command)`, whose command no
/// layer sees, and `void use_proxy(std::uint16_t port, const std::vector<std::string>& variables)`.
template <class State>
class proxy_setup {
 public:
  static awaitable<void> run(std::shared_ptr<State> state, std::uint16_t port, std::string authority) {
    std::vector<std::string> variables;
    if (!authority.empty()) {
      std::string roots = co_await write_bundle(state, authority);
      if (roots.empty()) {
        authority = roots_of_this_machine() + authority;
        co_await write_bundle(state, std::move(authority));
      }
      for (const std::string_view name :
           {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE",
            "PIP_CERT", "NPM_CONFIG_CAFILE", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT"})
        variables.push_back(std::string(name) + "=" + std::string(bundle));
    }
    state->use_proxy(port, variables);
  }

 private:
  static constexpr std::string_view bundle = "/tmp/.cofferdam-roots/ca-bundle.pem";

  /// Returns the file of the roots that the place has; empty if it has none.
  static awaitable<std::string> write_bundle(std::shared_ptr<State> state, std::string certificates) {
    std::vector<std::string> words{"/bin/sh", "-c", std::string(bundle_script), "sh", std::string(bundle)};
    words.insert(words.end(), std::begin(root_files), std::end(root_files));
    command writes = argv(std::move(words));
    writes.input(std::move(certificates));
    const command_result result = co_await State::run(std::move(state), std::move(writes));
    if (!result.ok())
      throw error(exec_errc::io_error, "network: the certificates cannot be written to " + std::string(bundle) +
                                           " in the environment: " + one_line(result.err_text(), 200));
    co_return result.out_text();
  }

  static std::string roots_of_this_machine() {
    for (const std::string_view name : root_files) {
      std::ifstream file{std::string(name), std::ios::binary};
      std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (!text.empty()) return text + "\n";
    }
    return {};
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
