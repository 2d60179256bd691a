// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/config_file.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/utf8.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The credentials for a registry. They are never printed, and leave this object only in the header fields that it
/// makes.
class registry_credentials {
 public:
  /// Makes an object without credentials, for public images.
  registry_credentials() = default;

  /// Makes credentials of a user name and a password.
  /// \param server  the registry's name in Docker's configuration; see `registry_server`.
  static registry_credentials password(std::string server, std::string user, std::string secret) {
    registry_credentials credentials;
    credentials.server_ = std::move(server);
    credentials.user_ = std::move(user);
    credentials.secret_ = std::move(secret);
    return credentials;
  }

  /// Makes credentials of a token.
  /// \param token  an OAuth2 refresh token from an earlier login at the registry.
  static registry_credentials identity_token(std::string server, std::string token) {
    registry_credentials credentials;
    credentials.server_ = std::move(server);
    credentials.secret_ = std::move(token);
    credentials.is_token_ = true;
    return credentials;
  }

  bool is_anonymous() const noexcept { return secret_.empty() && user_.empty(); }
  bool is_token() const noexcept { return is_token_; }
  const std::string& server() const noexcept { return server_; }
  const std::string& user() const noexcept { return user_; }

  /// Returns the value of the header field X-Registry-Auth, which is sent with every pull. Without credentials it is
  /// `e30=`, an empty JSON object.
  ///
  /// The value is base64 in the URL alphabet, with padding. The daemon would silently ignore credentials in the other
  /// alphabet.
  /// \throws error{exec_errc::invalid_argument} for a user name or a secret that is not UTF-8, because JSON cannot
  ///     contain it.
  std::string header() const { return encoded(object(true)); }

  /// Returns the value of the header field X-Registry-Config. The classic builder uses it to pull the base images of a
  /// Dockerfile.
  static std::string build_header(const std::vector<registry_credentials>& logins) {
    boost::json::object servers;
    for (const registry_credentials& login : logins)
      if (!login.is_anonymous()) servers[detail::json_view(login.server_)] = login.object(false);
    return encoded(servers);
  }

 private:
  boost::json::object object(bool with_server) const {
    boost::json::object object;
    if (is_anonymous()) return object;
    if (!cofferdam::detail::is_valid_utf8(user_) || !cofferdam::detail::is_valid_utf8(secret_))
      throw error(exec_errc::invalid_argument, "docker: the credentials for the registry \"" + one_line(server_, 100) +
                                                   "\" are not UTF-8, so they cannot be sent; log in again");
    if (is_token_) {
      object["identitytoken"] = detail::json_text(secret_);
    } else {
      object["username"] = detail::json_text(user_);
      object["password"] = detail::json_text(secret_);
    }
    if (with_server) object["serveraddress"] = detail::json_text(server_);
    return object;
  }

  static std::string encoded(const boost::json::object& object) {
    return cofferdam::detail::base64_encode(as_bytes(boost::json::serialize(object)),
                                            cofferdam::detail::base64_alphabet::url);
  }

  std::string server_;
  std::string user_;
  std::string secret_;
  bool is_token_ = false;
};

/// Returns the name of a registry as Docker's configuration and credential helpers use it. Only Docker Hub has a
/// special name in that configuration.
inline std::string registry_server(std::string_view registry) {
  if (registry == image_name::hub) return "https://index.docker.io/v1/";
  return std::string(registry);
}

/// The source of the credentials for a registry: either the credentials themselves, or a credential helper (a program
/// that prints them).
class registry_login {
 public:
  explicit registry_login(registry_credentials credentials) : credentials_(std::move(credentials)) {}
  registry_login(std::string helper, std::string server) : helper_(std::move(helper)), server_(std::move(server)) {}

  bool needs_helper() const noexcept { return !helper_.empty(); }
  /// Returns the credentials. If a helper program is needed, the returned object has none.
  const registry_credentials& credentials() const noexcept { return credentials_; }

  /// Returns the name of the helper program, such as `docker-credential-pass`. It is searched in PATH, and is run with
  /// one argument, `get`.
  const std::string& helper() const noexcept { return helper_; }
  /// Returns the text for the helper's standard input, without a line end. The input must be closed after it.
  const std::string& helper_input() const noexcept { return server_; }

 private:
  registry_credentials credentials_;
  std::string helper_;
  std::string server_;
};

// Returns the host of a server name: `http://host/v2/` becomes `host`.
inline std::string_view host_of_server(std::string_view server) {
  if (const std::size_t scheme = server.find("://"); scheme != std::string_view::npos) server.remove_prefix(scheme + 3);
  return server.substr(0, server.find('/'));
}

inline bool is_helper_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

// Returns the credentials that the member `auths` of Docker's config.json contains for a server, or an object without
// credentials.
inline registry_credentials stored_credentials(const boost::json::object& config, const std::string& server) {
  const boost::json::object* const auths = object_at(config, "auths");
  if (auths == nullptr) return registry_credentials();
  const boost::json::object* entry = object_at(*auths, server);
  if (entry == nullptr)
    for (const auto& [key, value] : *auths)
      if (host_of_server(std::string_view(key.data(), key.size())) == host_of_server(server) && value.is_object()) {
        entry = &value.get_object();
        break;
      }
  if (entry == nullptr) return registry_credentials();
  if (const std::string token(text_at(*entry, "identitytoken")); !token.empty())
    return registry_credentials::identity_token(server, token);
  std::string user(text_at(*entry, "username"));
  std::string secret(text_at(*entry, "password"));
  if (const std::string_view joined = text_at(*entry, "auth"); !joined.empty()) {
    const std::optional<bytes> raw = cofferdam::detail::base64_decode(joined);
    const std::string_view pair = raw ? as_text(*raw) : std::string_view();
    const std::size_t colon = pair.find(':');
    if (colon == std::string_view::npos)
      throw error(exec_errc::provider_failed, "docker: the entry for the registry \"" + one_line(server, 100) +
                                                  "\" under auths in config.json has an auth that is not base64 of "
                                                  "user:password; run docker login again");
    user = std::string(pair.substr(0, colon));
    secret = std::string(pair.substr(colon + 1));
    while (secret.ends_with('\0')) secret.pop_back();
  }
  return registry_credentials::password(server, std::move(user), std::move(secret));
}

/// Finds the source of the credentials for a registry in Docker's `config.json`. It is the helper of the registry in
/// `credHelpers`, otherwise the helper `credsStore`, otherwise the entry in `auths`. Without a configuration or an
/// entry, there are no credentials.
/// \param registry  from `image_name::registry()`.
/// \throws          error{exec_errc::provider_failed} for an unusable configuration. The message contains no secret.
/// \par Source      docker/cli `cli/config/configfile`.
inline registry_login find_registry_login(const host_view& host, std::string_view registry) {
  const std::optional<boost::json::object> config = detail::read_config(host);
  if (!config) return registry_login(registry_credentials());
  const std::string server = registry_server(registry);
  std::string helper(detail::text_at(*config, "credsStore"));
  if (const boost::json::object* const helpers = detail::object_at(*config, "credHelpers"))
    for (const std::string_view key : {std::string_view(server), detail::host_of_server(server), registry})
      if (detail::member(*helpers, key) != nullptr) {
        helper = std::string(detail::text_at(*helpers, key));
        break;
      }
  if (helper.empty()) return registry_login(detail::stored_credentials(*config, server));
  if (!detail::is_helper_name(helper))
    throw error(exec_errc::provider_failed,
                "docker: config.json names the credential helper \"" + one_line(helper, 60) + "\" for the registry \"" +
                    one_line(server, 100) + "\"; a name has only letters, digits, '-', '_' and '.'");
  return registry_login("docker-credential-" + helper, server);
}

/// Parses the output of a credential helper. If the helper does not exist, do not call this: there are no credentials
/// then, as for the docker command.
/// \param exit_code  the exit code of the helper.
/// \param output     the helper's whole standard output; at most 64 KiB.
/// \return           an object without credentials if the helper has none for this registry.
/// \throws           error{exec_errc::provider_failed} if the helper failed, or its output is invalid. The message
///                   contains nothing of the output.
/// \par Source       docker/docker-credential-helpers, "Development".
inline registry_credentials read_helper_answer(const registry_login& login, int exit_code, std::string_view output) {
  const std::string what = "docker: the credential helper \"" + one_line(login.helper(), 100) +
                           "\" for the registry \"" + one_line(login.helper_input(), 100) + "\"";
  if (exit_code != 0) {
    if (output.find("credentials not found in native keychain") != std::string_view::npos)
      return registry_credentials();
    throw error(exec_errc::provider_failed, what + " ended with exit code " + std::to_string(exit_code) +
                                                "; run it by hand with the argument get to see why");
  }
  const boost::json::object answer = detail::parse_object(output, exec_errc::provider_failed, what + ": its answer");
  std::string user(detail::text_at(answer, "Username"));
  std::string secret(detail::text_at(answer, "Secret"));
  if (secret.empty()) throw error(exec_errc::provider_failed, what + " answered without a secret");
  if (user == "<token>") return registry_credentials::identity_token(login.helper_input(), std::move(secret));
  return registry_credentials::password(login.helper_input(), std::move(user), std::move(secret));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
