// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/backends/kubernetes/detail/kubeconfig.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/os/child_processes.hpp>
#include <cofferdam/os/command_request.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// The credentials that a request to the API server carries. A value; copies share the secrets.
class kube_credentials {
 public:
  secret_string authorization;  ///< the value of the field `Authorization`; empty if a certificate is enough
  secret_string certificate;    ///< the client certificate in PEM form; empty for none
  secret_string key;
  std::optional<std::chrono::system_clock::time_point> expiry;

  /// Adds the credentials and the user to act as to a request. The certificate belongs to the connection instead; see
  /// `cluster_connector`.
  void apply(http_request& request, const kube_user& user) const {
    if (!authorization.empty()) request.secret_field("Authorization", authorization);
    if (!user.acts_as.empty()) request.field("Impersonate-User", user.acts_as);
    if (!user.acts_as_id.empty()) request.field("Impersonate-Uid", user.acts_as_id);
    for (const std::string& group : user.acts_as_groups) request.field("Impersonate-Group", group);
  }
};

/// Parses a time in the form of RFC 3339, such as `2026-03-01T12:30:00Z`; no value if it has another form. Fractions of
/// a second are dropped.
inline std::optional<std::chrono::system_clock::time_point> parse_kube_time(std::string_view text) {
  const auto number = [&text](std::size_t at, std::size_t size) {
    int value = 0;
    for (std::size_t i = at; i < at + size; ++i) {
      if (i >= text.size() || text[i] < '0' || text[i] > '9') return -1;
      value = 10 * value + (text[i] - '0');
    }
    return value;
  };
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  std::tm when{};
  when.tm_year = number(0, 4) - 1900;
  when.tm_mon = number(5, 2) - 1;
  when.tm_mday = number(8, 2);
  when.tm_hour = number(11, 2);
  when.tm_min = number(14, 2);
  when.tm_sec = number(17, 2);
  if (when.tm_year < 0 || when.tm_mon < 0 || when.tm_mon > 11 || when.tm_mday < 1 || when.tm_mday > 31 ||
      when.tm_hour < 0 || when.tm_hour > 23 || when.tm_min < 0 || when.tm_min > 59 || when.tm_sec < 0 ||
      when.tm_sec > 60)
    return std::nullopt;
  std::size_t at = 19;
  if (text[at] == '.') {
    const std::size_t begin = ++at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    if (at == begin) return std::nullopt;
  }
  std::chrono::seconds offset(0);
  const std::string_view zone = text.substr(at);
  if (zone != "Z" && zone != "z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
    const int hours = number(at + 1, 2);
    const int minutes = number(at + 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
    offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    if (zone[0] == '-') offset = -offset;
  }
  return std::chrono::system_clock::from_time_t(timegm(&when)) - offset;
}

/// Reads the output of an exec plugin.
/// \param who  the plugin, for error messages.
/// \throws error{exec_errc::provider_failed}; the message contains nothing of the output, which has secrets.
inline kube_credentials read_exec_credential(std::string_view output, const kube_exec& exec, const std::string& who) {
  const auto wrong = [&who](const std::string& what) { return error(exec_errc::provider_failed, who + what); };
  const boost::json::object answer =
      cofferdam::detail::parse_object(output, exec_errc::provider_failed, who + ": its output");
  if (cofferdam::detail::text_at(answer, "kind") != "ExecCredential")
    throw wrong(": its output is not an ExecCredential");
  if (cofferdam::detail::text_at(answer, "apiVersion") != exec.api_version)
    throw wrong(": its output has another apiVersion than the kubeconfig (" + one_line(exec.api_version, 60) + ")");
  const boost::json::object* const status = cofferdam::detail::object_at(answer, "status");
  if (status == nullptr) throw wrong(": its output has no status");
  kube_credentials result;
  std::string token(cofferdam::detail::text_at(*status, "token"));
  if (!token.empty()) result.authorization = secret_string("Bearer " + token);
  cofferdam::detail::wipe(token);
  result.certificate = secret_string(std::string(cofferdam::detail::text_at(*status, "clientCertificateData")));
  result.key = secret_string(std::string(cofferdam::detail::text_at(*status, "clientKeyData")));
  if (result.certificate.empty() != result.key.empty())
    throw wrong(": its output has only one of clientCertificateData and clientKeyData");
  if (result.authorization.empty() && result.certificate.empty())
    throw wrong(": its output has neither a token nor a certificate");
  if (const std::string_view expiry = cofferdam::detail::text_at(*status, "expirationTimestamp"); !expiry.empty()) {
    result.expiry = parse_kube_time(expiry);
    if (!result.expiry) throw wrong(": expirationTimestamp is not a time of RFC 3339");
  }
  return result;
}

/// Returns the value of KUBERNETES_EXEC_INFO for an exec plugin.
inline std::string exec_info(const kube_exec& exec, const cluster_access& access) {
  boost::json::object spec;
  spec["interactive"] = false;
  if (exec.wants_cluster) {
    boost::json::object cluster;
    cluster["server"] = access.cluster.server;
    if (!access.cluster.server_name.empty()) cluster["tls-server-name"] = access.cluster.server_name;
    if (access.cluster.insecure) cluster["insecure-skip-tls-verify"] = true;
    std::string authority(access.cluster.authority.text.reveal());
    if (authority.empty() && !access.cluster.authority.path.empty())
      authority = read_kube_file(access.cluster.authority.path).value_or("");
    if (!authority.empty())
      cluster["certificate-authority-data"] = cofferdam::detail::base64_encode(as_bytes(std::string_view(authority)));
    if (!access.cluster.proxy.empty()) cluster["proxy-url"] = access.cluster.proxy;
    spec["cluster"] = std::move(cluster);
  }
  boost::json::object info;
  info["apiVersion"] = exec.api_version;
  info["kind"] = "ExecCredential";
  info["spec"] = std::move(spec);
  return boost::json::serialize(info);
}

/// Returns a text in which words that may be tokens are replaced: long ones of letters and digits, without a slash.
inline std::string without_tokens(std::string_view text) {
  constexpr std::size_t shortest = 32;
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.' || c == '+' || c == '=';
  };
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_part(text[end])) ++end;
    if (end - at >= shortest && (at == 0 || text[at - 1] != '/') && (end == text.size() || text[end] != '/')) {
      result += "[redacted]";
      at = end;
    } else {
      end = std::max(end, at + 1);
      result += text.substr(at, end - at);
      at = end;
    }
  }
  return result;
}

/// Supplies the credentials of a user, and renews them: a token file is read again each minute, and an exec plugin runs
/// again when its credentials expire or were rejected. Requests that need the plugin at the same time share one run.
/// \par Errors    error{exec_errc::provider_failed} with the file or the plugin, and with what to do.
/// \par Cancellation  terminal: ends the plugin; throws error{exec_errc::cancelled}.
/// \par Lifetime  destroy the object while no call is under way.
/// \par Threads   one executor, on which the callers run, too.
class credential_source {
 public:
  using clock = std::chrono::system_clock;

  /// The time after which a token file is read again.
  static constexpr std::chrono::seconds file_age{60};
  /// Credentials are renewed this long before they expire, because a request takes time, too.
  static constexpr std::chrono::seconds margin{10};
  /// The time limit of an exec plugin.
  static constexpr std::chrono::seconds plugin_limit{60};

  /// \param access  kept by the caller as long as this object.
  credential_source(asio::any_io_executor executor, const cluster_access& access)
      : executor_(executor), access_(access), turn_(std::move(executor), 1) {}

  /// Returns valid credentials.
  awaitable<kube_credentials> current() {
    if (!is_fresh()) {
      co_await turn_.acquire(1, "getting the credentials of a cluster");
      const cofferdam::detail::held_permits held(turn_, 1);
      if (!is_fresh()) co_await renew();
    }
    co_return *known_;
  }

  /// Returns a text without the secrets that this object has supplied lately.
  std::string clean(std::string_view text) const {
    redactor hidden;
    for (const secret_string& secret : supplied_) hidden.hide(secret);
    return hidden.clean(text);
  }

  /// Forgets credentials that the API server has rejected (status 401). The next call of `current` gets new ones.
  void reject() noexcept { known_.reset(); }

  /// Replaces the clock, for tests.
  void now(clock::time_point (*function)()) noexcept { now_ = function; }

 private:
  bool is_fresh() const {
    if (!known_) return false;
    if (renewed_ && now_() >= *renewed_ + file_age) return false;
    return !known_->expiry || now_() < *known_->expiry - margin;
  }

  awaitable<void> renew() {
    const kube_user& user = access_.user;
    kube_credentials fresh;
    renewed_.reset();
    if (user.exec) {
      kube_credentials supplied = co_await run_plugin(*user.exec);
      fresh = std::move(supplied);
    } else {
      fresh.certificate = load(user.certificate, user.where);
      fresh.key = load(user.key, user.where);
    }
    if (!user.exec && !user.token_file.empty()) {
      fresh.authorization = from_file(user);
      renewed_ = now_();
    } else if (!user.token.empty()) {
      fresh.authorization = secret_string("Bearer " + std::string(user.token.reveal()));
    } else if (!user.login.empty()) {
      const std::string pair = user.login + ":" + std::string(user.password.reveal());
      fresh.authorization =
          secret_string("Basic " + cofferdam::detail::base64_encode(as_bytes(std::string_view(pair))));
    }
    supplied(fresh.authorization, user.password);
    known_ = std::move(fresh);
  }

  /// Remembers secrets that an answer may repeat: those of the last renewals.
  void supplied(const secret_string& authorization, const secret_string& password) {
    constexpr std::size_t most = 16;
    const std::string_view whole = authorization.reveal();
    if (whole.empty()) return;
    for (secret_string& each :
         std::array{secret_string(std::string(whole.substr(whole.find(' ') + 1))), secret_string(password)}) {
      const auto is_same = [&each](const secret_string& known) { return known.reveal() == each.reveal(); };
      if (std::none_of(supplied_.begin(), supplied_.end(), is_same)) supplied_.push_back(std::move(each));
    }
    if (supplied_.size() > most) supplied_.erase(supplied_.begin(), supplied_.end() - most);
  }

  static secret_string load(const kube_pem& pem, const std::string& where) {
    if (!pem.text.empty() || pem.path.empty()) return pem.text;
    std::optional<std::string> text = read_kube_file(pem.path);
    if (!text)
      throw error(exec_errc::provider_failed,
                  "kubernetes: " + where + ": the file " + cofferdam::detail::shown_path(pem.path) + " does not exist");
    return secret_string(std::move(*text));
  }

  static secret_string from_file(const kube_user& user) {
    std::optional<std::string> text = read_kube_file(user.token_file);
    std::string_view token = text ? std::string_view(*text) : user.token.reveal();
    while (!token.empty() && std::string_view(" \t\r\n").find(token.back()) != std::string_view::npos)
      token.remove_suffix(1);
    if (token.empty())
      throw error(exec_errc::provider_failed, "kubernetes: " + user.where + ": the token file " +
                                                  cofferdam::detail::shown_path(user.token_file) +
                                                  (text ? " is empty" : " does not exist"));
    secret_string result("Bearer " + std::string(token));
    if (text) cofferdam::detail::wipe(*text);
    return result;
  }

  awaitable<kube_credentials> run_plugin(const kube_exec& exec) {
    const std::string who =
        "kubernetes: the credential plugin \"" + one_line(exec.program, 100) + "\" (" + access_.user.where + ")";
    std::vector<std::string> words{exec.program};
    words.insert(words.end(), exec.arguments.begin(), exec.arguments.end());
    command ask = argv(std::move(words));
    ask.timeout(plugin_limit).keep_output(std::size_t{1} << 20U);
    for (const auto& [name, value] : exec.variables) ask.variable(name, value);
    ask.variable("KUBERNETES_EXEC_INFO", exec_info(exec, access_));
    spawn_request request = request_for(ask, "/bin/sh", access_.variables);
    child_processes children(executor_);
    command_result result = co_await children.run(std::move(ask), std::move(request));
    co_await children.close();
    if (result.kind() == error_kind::execution_error)
      throw error(exec_errc::provider_failed,
                  who + " cannot be started: " + result.reason() +
                      (exec.hint.empty() ? std::string("; install it") : "; " + one_line(exec.hint, 400)),
                  result.cause());
    if (result.kind() == error_kind::timeout)
      throw error(exec_errc::provider_failed,
                  who + " did not end within a minute; it may be waiting for keyboard input");
    if (result.exit_code() != 0)
      throw error(exec_errc::provider_failed, who + " failed (" + result.summary() +
                                                  "): " + one_line(without_tokens(result.err().text()), 400) +
                                                  "; run it by hand to see why");
    const std::string output(result.out().text());
    co_return read_exec_credential(output, exec, who);
  }

  asio::any_io_executor executor_;
  const cluster_access& access_;
  cofferdam::detail::async_semaphore turn_;
  std::optional<kube_credentials> known_;
  std::vector<secret_string> supplied_;
  std::optional<clock::time_point> renewed_;  // the time at which a token file was read
  clock::time_point (*now_)() = &clock::now;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
