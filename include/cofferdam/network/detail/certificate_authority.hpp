// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/network/detail/host_name.hpp>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Calls a function of OpenSSL in place of `delete`.
template <auto Free>
class openssl_deleter {
 public:
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using unique_pkey = std::unique_ptr<EVP_PKEY, openssl_deleter<EVP_PKEY_free>>;
using unique_x509 = std::unique_ptr<X509, openssl_deleter<X509_free>>;
using unique_bio = std::unique_ptr<BIO, openssl_deleter<BIO_free_all>>;
using unique_ssl_ctx = std::unique_ptr<SSL_CTX, openssl_deleter<SSL_CTX_free>>;
using unique_ssl = std::unique_ptr<SSL, openssl_deleter<SSL_free>>;

/// A certificate authority for one environment, and the certificates that it has made for hosts. Its keys exist only in
/// this program's memory. The authority is valid for a year, so longer than an environment is kept open. A host's
/// certificate is valid for a day, and is replaced after half a day. Both begin an hour ago, for clocks that are slow.
class certificate_authority {
 public:
  using clock = std::chrono::steady_clock;

  certificate_authority() : key_(new_key()), leaf_key_(new_key()), own_(unsigned_certificate(key_.get(), 365 * day)) {
    X509_set_subject_name(own_.get(), X509_get_issuer_name(own_.get()));
    extend(own_.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(own_.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
    extend(own_.get(), NID_subject_key_identifier, "hash");
    sign(own_.get());
  }

  /// Returns the certificate of the authority, in PEM form.
  std::string pem() const {
    const unique_bio memory(BIO_new(BIO_s_mem()));
    check(memory != nullptr && PEM_write_bio_X509(memory.get(), own_.get()) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  }

  /// Returns the settings of a TLS server with a certificate for this host. The result is valid until the next call.
  SSL_CTX* server_for(const host_name& host, clock::time_point now = clock::now()) {
    const auto known = servers_.find(host.text());
    if (known != servers_.end() && now - known->second.made < max_age) return known->second.context.get();
    if (servers_.size() >= max_servers) servers_.clear();  // connections that use one of them share its ownership
    server& made = servers_[host.text()];
    made = server{make_server(host), now};
    return made.context.get();
  }

 private:
  struct server {
    unique_ssl_ctx context;
    clock::time_point made;
  };

  static constexpr std::size_t max_servers = 256;
  static constexpr long hour = 3600;
  static constexpr long day = 24 * hour;
  static constexpr std::chrono::hours max_age{12};

  static void check(bool done) {
    if (done) return;
    ERR_clear_error();
    throw error(exec_errc::io_error, "TLS: OpenSSL cannot make a certificate for the commands of a sandbox");
  }

  static unique_pkey new_key() {
    unique_pkey key(EVP_EC_gen("P-256"));
    check(key != nullptr);
    return key;
  }

  /// Makes a certificate for a key, with the name of the authority as its issuer, which ends in `seconds`.
  static unique_x509 unsigned_certificate(EVP_PKEY* key, long seconds) {
    unique_x509 made(X509_new());
    check(made != nullptr);
    X509* const certificate = made.get();
    const std::unique_ptr<BIGNUM, openssl_deleter<BN_free>> serial(BN_new());
    check(serial != nullptr && BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1);
    check(BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr);
    check(X509_set_version(certificate, 2) == 1 && X509_set_pubkey(certificate, key) == 1);
    check(X509_gmtime_adj(X509_getm_notBefore(certificate), -hour) != nullptr);
    check(X509_gmtime_adj(X509_getm_notAfter(certificate), seconds) != nullptr);
    add_name(X509_get_issuer_name(certificate), "cofferdam sandbox authority");
    return made;
  }

  static void add_name(X509_NAME* name, const std::string& text) {
    check(X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC,
                                     reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0) == 1);
  }

  void extend(X509* certificate, int kind, const std::string& value) const {
    X509V3_CTX context;
    X509V3_set_ctx(&context, own_.get(), certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, openssl_deleter<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
    check(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
  }

  void sign(X509* certificate) const { check(X509_sign(certificate, key_.get(), EVP_sha256()) != 0); }

  unique_ssl_ctx make_server(const host_name& host) const {
    const unique_x509 leaf = unsigned_certificate(leaf_key_.get(), day);
    add_name(X509_get_subject_name(leaf.get()), "cofferdam sandbox host");
    extend(leaf.get(), NID_basic_constraints, "critical,CA:FALSE");
    extend(leaf.get(), NID_key_usage, "critical,digitalSignature");
    extend(leaf.get(), NID_ext_key_usage, "serverAuth");
    extend(leaf.get(), NID_subject_key_identifier, "hash");
    extend(leaf.get(), NID_authority_key_identifier, "keyid:always");
    extend(leaf.get(), NID_subject_alt_name, (host.address() ? "IP:" : "DNS:") + host.text());
    sign(leaf.get());
    unique_ssl_ctx context(SSL_CTX_new(TLS_server_method()));
    check(context != nullptr);
    SSL_CTX* const native = context.get();
    check(SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) == 1);
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    // In TLS 1.3 tickets would still be sent, right after the handshake. A client that writes in one thread and reads
    // in another, as Python's websockets does, can stall if its write meets a ticket.
    check(SSL_CTX_set_num_tickets(native, 0) == 1);
    SSL_CTX_set_alpn_select_cb(native, &choose_protocol, nullptr);
    check(SSL_CTX_use_certificate(native, leaf.get()) == 1 && SSL_CTX_use_PrivateKey(native, leaf_key_.get()) == 1);
    return context;
  }

  /// Chooses `http/1.1` from the protocols that a client offers, and ends the handshake if it is not among them.
  static int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                             unsigned int in_size, void*) {
    static constexpr unsigned char own[] = "\x08http/1.1";
    unsigned char* chosen = nullptr;
    if (SSL_select_next_proto(&chosen, out_size, own, sizeof own - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED)
      return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
  }

  unique_pkey key_;
  unique_pkey leaf_key_;
  unique_x509 own_;
  std::map<std::string, server> servers_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
