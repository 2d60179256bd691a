// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/net/detail/connect.hpp>
#include <cofferdam/net/detail/pem_source.hpp>
#include <cofferdam/net/detail/proxy_tunnel.hpp>
#include <cofferdam/net/detail/stream_errors.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/net/proxy.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/redirect_error.hpp>
#include <asio/ssl/context.hpp>
#include <asio/ssl/error.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline std::string pem_source::name() const {
  return is_path_ ? "the file \"" + one_line(text_) + "\"" : std::string("the PEM text");
}

inline std::string pem_source::load(const char* what) const {
  if (!is_path_) return text_;
  constexpr std::size_t max_bytes = 1024 * 1024;
  std::ifstream file(text_, std::ios::binary);
  std::string content(max_bytes + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (content.empty() || content.size() > max_bytes || file.bad())
    throw error(exec_errc::invalid_argument,
                std::string("TLS: ") + name() + " for " + what + " cannot be read, is empty or is longer than 1 MiB");
  return content;
}

/// The TLS settings that all connections of one connector or listener share. Immutable.
class tls_identity {
 public:
  tls_identity(const pem_source& trusted, const pem_source& chain, const pem_source& key, bool verify)
      : context_(std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client)),
        verifies_(verify),
        has_certificate_(chain.given()) {
    SSL_CTX* native = context_->native_handle();
    if (SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) != 1)
      throw error(exec_errc::invalid_argument, "TLS: OpenSSL has no TLS 1.2");
    SSL_CTX_set_verify(native, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    // Without this callback, OpenSSL would prompt on the terminal for the password of an encrypted key.
    SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return 0; });
    std::error_code failure;
    if (trusted.given()) {
      context_->add_certificate_authority(buffer(trusted.load("the trusted certificates")), failure);
      check(failure, trusted, "has no certificate to trust");
    } else if (verify) {
      context_->set_default_verify_paths(failure);
      if (failure)
        throw error(exec_errc::invalid_argument, "TLS: the system's trusted certificates cannot be used", failure);
    }
    if (!chain.given()) return;
    load_certificate(chain, key, "client");
  }
  /// Constructs the settings of a server, which has a certificate and does not request one from its clients.
  tls_identity(const pem_source& chain, const pem_source& key)
      : context_(std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server)),
        verifies_(false),
        has_certificate_(true) {
    SSL_CTX* native = context_->native_handle();
    if (SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) != 1)
      throw error(exec_errc::invalid_argument, "TLS: OpenSSL has no TLS 1.2");
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_default_passwd_cb(native, [](char*, int, int, void*) { return 0; });
    load_certificate(chain, key, "server");
  }

  asio::ssl::context& context() const noexcept { return *context_; }
  bool verifies() const noexcept { return verifies_; }
  bool has_certificate() const noexcept { return has_certificate_; }

 private:
  void load_certificate(const pem_source& chain, const pem_source& key, const std::string& whose) {
    std::error_code failure;
    const std::string chain_text = chain.load(("the " + whose + " certificate").c_str());
    context_->use_certificate_chain(asio::buffer(chain_text), failure);
    check(failure, chain, "has no " + whose + " certificate");
    std::string key_text = key.load(("the " + whose + "'s key").c_str());
    context_->use_private_key(asio::buffer(key_text), asio::ssl::context::pem, failure);
    OPENSSL_cleanse(key_text.data(), key_text.size());
    check(failure, key, "has no private key that is unencrypted and belongs to the " + whose + " certificate");
    if (SSL_CTX_check_private_key(context_->native_handle()) != 1)
      throw error(exec_errc::invalid_argument,
                  "TLS: the key in " + key.name() + " does not belong to the " + whose + " certificate");
  }

  // The result is valid until the end of the statement that made `text`, which is long enough for OpenSSL to read it.
  static asio::const_buffer buffer(const std::string& text) { return asio::const_buffer(text.data(), text.size()); }
  static void check(std::error_code failure, const pem_source& from, const std::string& what) {
    ERR_clear_error();
    if (failure)
      throw error(exec_errc::invalid_argument, "TLS: " + from.name() + " " + what + ": " + failure.message(), failure);
  }

  std::shared_ptr<asio::ssl::context> context_;
  bool verifies_;
  bool has_certificate_;
};

inline net_errc verdict_code(long verdict) noexcept {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED: return net_errc::certificate_expired;
    case X509_V_ERR_CERT_NOT_YET_VALID: return net_errc::certificate_not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return net_errc::certificate_wrong_host;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_UNTRUSTED: return net_errc::certificate_untrusted;
    default: return net_errc::certificate_rejected;
  }
}

/// Returns true if the error is an alert of the peer that the client certificate is missing or not accepted.
inline bool wants_certificate(std::error_code cause) noexcept {
  if (cause.category() != asio::error::get_ssl_category()) return false;
  switch (ERR_GET_REASON(static_cast<unsigned long>(static_cast<unsigned int>(cause.value())))) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return true;
    default: return false;
  }
}

inline bool speaks_no_tls(std::error_code cause) noexcept {
  if (cause.category() != asio::error::get_ssl_category()) return false;
  switch (ERR_GET_REASON(static_cast<unsigned long>(static_cast<unsigned int>(cause.value())))) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_HTTP_REQUEST: return true;
    default: return false;
  }
}

inline error certificate_error(const std::string& peer, bool has_certificate) {
  const char* advice = has_certificate ? " rejects the client certificate; check that it is still valid and signed by "
                                         "an authority that the server trusts"
                                       : " requires a client certificate; set certificate() in the tls_settings";
  return error(exec_errc::io_error, peer + advice, net_errc::client_certificate_needed);
}

/// A TLS connection over a TCP socket.
class tls_stream final : public byte_stream::implementation {
 public:
  using stream_type = asio::ssl::stream<asio::ip::tcp::socket>;

  tls_stream(asio::ip::tcp::socket socket, const tls_identity& identity, std::string peer)
      : identity_(identity), stream_(std::move(socket), identity_.context()), peer_(std::move(peer)) {}

  /// Makes this stream the client's side of the connection.
  /// \param expected  the host name or IP address for which the server's certificate must be valid.
  void expect(const std::string& expected) {
    SSL* native = stream_.native_handle();
    std::error_code not_an_address;
    asio::ip::make_address(expected, not_an_address);
    X509_VERIFY_PARAM* rules = SSL_get0_param(native);
    X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    int done = 0;
    if (not_an_address) {
      done = X509_VERIFY_PARAM_set1_host(rules, expected.c_str(), expected.size());
      if (done == 1) done = static_cast<int>(SSL_set_tlsext_host_name(native, expected.c_str()));
    } else {
      done = X509_VERIFY_PARAM_set1_ip_asc(rules, expected.c_str());
    }
    ERR_clear_error();
    if (done != 1) throw error(exec_errc::io_error, peer_ + ": OpenSSL cannot set the expected host name for TLS");
  }

  /// Makes this stream the server's side of the connection. The handshake takes place in the first read.
  void expect_client() {
    is_server_ = true;
    SSL_set_accept_state(stream_.native_handle());
  }

  /// Makes the client's handshake. Throws when `due` is reached.
  awaitable<void> handshake(due_time due) {
    std::error_code failure;
    deadline_timer limit(stream_.get_executor(), [this] { close_socket(); });
    limit.arm_until(due);
    co_await stream_.async_handshake(asio::ssl::stream_base::client,
                                     asio::redirect_error(asio::use_awaitable, failure));
    const bool expired = limit.expired();
    limit.stop();
    if (expired)
      throw error(exec_errc::io_error,
                  "cannot connect to " + peer_ + ": its TLS handshake took longer than the time limit",
                  net_errc::timed_out);
    if (failure == asio::error::operation_aborted) throw connect_cancelled(peer_);
    if (failure) throw handshake_error(failure);
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    std::error_code failure;
    const asio::mutable_buffer room(into.data(), into.size());
    const std::size_t count =
        co_await stream_.async_read_some(room, asio::redirect_error(asio::use_awaitable, failure));
    if (failure == asio::error::eof) co_return 0;
    if (failure) throw translated("reading", failure);
    co_return count;
  }

  awaitable<void> write(bytes_view data) override {
    std::error_code failure;
    const asio::const_buffer content(data.data(), data.size());
    co_await asio::async_write(stream_, content, asio::redirect_error(asio::use_awaitable, failure));
    if (failure) throw translated("writing", failure);
  }

  /// Sends the close_notify alert without Asio's shutdown function, which waits for the peer's answer and fails if data
  /// arrives first. SSL_shutdown alone would leave the alert in Asio's buffer. The alert is therefore written into a
  /// separate buffer, and sent from there.
  awaitable<void> shutdown_send() override {
    if (closed_) throw translated("ending the output", asio::error::operation_aborted);
    if (std::exchange(ended_, true)) co_return;
    const std::string alert = close_notify();
    std::error_code failure;
    co_await asio::async_write(stream_.next_layer(), asio::buffer(alert),
                               asio::redirect_error(asio::use_awaitable, failure));
    if (failure) throw translated("ending the output", failure);
  }

  void close() noexcept override {
    closed_ = true;
    close_socket();
  }

  bool is_quiet() noexcept override {
    SSL* native = stream_.native_handle();
    return !closed_ && SSL_has_pending(native) == 0 && BIO_ctrl_pending(SSL_get_rbio(native)) == 0 &&
           is_quiet_descriptor(stream_.next_layer().native_handle());
  }

 private:
  void close_socket() noexcept {
    std::error_code ignored;  // the socket is closed even if `close` fails
    stream_.next_layer().close(ignored);
  }

  std::string close_notify() {
    SSL* native = stream_.native_handle();
    BIO* before = SSL_get_wbio(native);
    BIO* memory = BIO_new(BIO_s_mem());
    if (memory == nullptr || BIO_up_ref(before) != 1) {
      BIO_free(memory);
      throw error(exec_errc::io_error, peer_ + ": no memory for TLS");
    }
    SSL_set0_wbio(native, memory);
    SSL_shutdown(native);
    ERR_clear_error();
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    std::string alert;
    if (size > 0) alert.assign(data, static_cast<std::size_t>(size));
    SSL_set0_wbio(native, before);
    return alert;
  }

  error translated(const char* doing, std::error_code cause) const {
    if (!closed_ && !is_server_ && wants_certificate(cause))
      return certificate_error(peer_, identity_.has_certificate());
    return stream_error(peer_, doing, cause, closed_);
  }

  error handshake_error(std::error_code cause) {
    const std::string what = "cannot connect to " + peer_ + ": ";
    const long verdict = SSL_get_verify_result(stream_.native_handle());
    if (identity_.verifies() && verdict != X509_V_OK)
      return error(exec_errc::io_error,
                   what + "its certificate was not accepted: " + X509_verify_cert_error_string(verdict) +
                       advice_for_verdict(verdict_code(verdict)),
                   verdict_code(verdict));
    if (wants_certificate(cause) || is_handshake_alert(cause))
      return certificate_error(peer_, identity_.has_certificate());
    if (speaks_no_tls(cause))
      return error(exec_errc::io_error, what + "it does not speak TLS 1.2 or newer on that port: " + cause.message(),
                   net_errc::not_tls);
    return error(exec_errc::io_error, what + "the TLS handshake failed: " + cause.message(), cause);
  }

  /// Returns true for the alert handshake_failure after the server has sent its certificate. TLS 1.2 servers send it,
  /// among other reasons, if the client certificate is missing.
  bool is_handshake_alert(std::error_code cause) noexcept {
    return cause.category() == asio::error::get_ssl_category() &&
           ERR_GET_REASON(static_cast<unsigned long>(static_cast<unsigned int>(cause.value()))) ==
               SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE &&
           SSL_get0_peer_certificate(stream_.native_handle()) != nullptr;
  }

  static const char* advice_for_verdict(net_errc code) noexcept {
    switch (code) {
      case net_errc::certificate_untrusted:
        return "; if the certificate is right, trust its authority in the tls_settings";
      case net_errc::certificate_wrong_host: return "; connect by a name in the certificate, or set server_name()";
      case net_errc::certificate_expired:
      case net_errc::certificate_not_yet_valid: return "; the server needs a new certificate, or a clock is wrong";
      default: return "";
    }
  }

  tls_identity identity_;
  stream_type stream_;
  std::string peer_;
  bool is_server_ = false;
  bool ended_ = false;
  bool closed_ = false;
};

inline awaitable<byte_stream> connect_tls(std::string host, std::uint16_t port, std::string name, std::string expected,
                                          tls_identity identity, std::optional<http_proxy> proxy,
                                          asio::any_io_executor executor, std::chrono::milliseconds limit) {
  const due_time due = std::chrono::steady_clock::now() + limit;
  asio::ip::tcp::socket socket(executor);
  if (proxy) {
    socket = co_await connect_by_proxy(*proxy, host, port, name, executor, due);
  } else {
    socket = co_await connect_tcp_socket(host, port, name, executor, due);
  }
  std::unique_ptr<tls_stream> stream = std::make_unique<tls_stream>(std::move(socket), identity, name);
  stream->expect(expected);
  co_await stream->handshake(due);
  co_return byte_stream(std::move(stream));
}

/// A copyable function object for `connector`. Each call connects to a host by TLS.
class tls_recipe {
 public:
  tls_recipe(std::string host, std::uint16_t port, std::string name, std::string expected, tls_identity identity,
             std::optional<http_proxy> proxy)
      : host_(std::move(host)),
        name_(std::move(name)),
        expected_(std::move(expected)),
        identity_(std::move(identity)),
        proxy_(std::move(proxy)),
        port_(port) {}
  awaitable<byte_stream> operator()(asio::any_io_executor executor, std::chrono::milliseconds limit) const {
    return connect_tls(host_, port_, name_, expected_, identity_, proxy_, std::move(executor), limit);
  }

 private:
  std::string host_;
  std::string name_;
  std::string expected_;
  tls_identity identity_;
  std::optional<http_proxy> proxy_;
  std::uint16_t port_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
