// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace cofferdam_test {

/// A new certificate with its private key, signed by an authority or by itself.
class certificate {
 public:
  /// \param names      the names of the server, as in `DNS:localhost,IP:127.0.0.1`. Empty makes an authority.
  /// \param authority  the signer; null means that the certificate signs itself.
  /// \param from       the start of the validity, in seconds from now. Default: an hour ago.
  /// \param until      the end of the validity, in seconds from now. Default: in an hour.
  explicit certificate(const std::string& names, const certificate* authority = nullptr, long from = -3600,
                       long until = 3600)
      : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), own_(X509_new(), X509_free) {
    static long serial = 1;
    X509* cert = own_.get();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), from);
    X509_gmtime_adj(X509_getm_notAfter(cert), until);
    X509_set_pubkey(cert, key_.get());
    const std::string common_name = "cofferdam test " + std::to_string(serial);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
    const certificate& signer = authority == nullptr ? *this : *authority;
    X509_set_issuer_name(cert, X509_get_subject_name(signer.own_.get()));
    X509V3_CTX context;
    X509V3_set_ctx(&context, signer.own_.get(), cert, nullptr, nullptr, 0);
    if (names.empty()) {
      extend(context, NID_basic_constraints, "critical,CA:TRUE");
      extend(context, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
      extend(context, NID_subject_alt_name, names);
    }
    if (X509_sign(cert, signer.key_.get(), EVP_sha256()) == 0) throw std::runtime_error("X509_sign failed");
  }

  std::string pem() const {
    return text([this](BIO* to) { return PEM_write_bio_X509(to, own_.get()); });
  }
  std::string key_pem() const {
    return text(
        [this](BIO* to) { return PEM_write_bio_PrivateKey(to, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }
  /// Returns the private key in PEM form, encrypted with the password "password".
  std::string locked_key_pem() const {
    return text([this](BIO* to) {
      return PEM_write_bio_PrivateKey(to, key_.get(), EVP_aes_128_cbc(),
                                      reinterpret_cast<const unsigned char*>("password"), 8, nullptr, nullptr);
    });
  }

 private:
  void extend(X509V3_CTX& context, int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    if (extension == nullptr) throw std::runtime_error("X509V3_EXT_conf_nid failed");
    X509_add_ext(own_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  template <class F>
  static std::string text(F&& write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
    if (write(memory.get()) != 1) throw std::runtime_error("PEM cannot be written");
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
  std::unique_ptr<X509, decltype(&X509_free)> own_;
};

}  // namespace cofferdam_test
