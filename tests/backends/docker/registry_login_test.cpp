// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/registry_login.hpp>

#include "support/error_of.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using cofferdam::detail::base64_alphabet;
using cofferdam::detail::base64_decode;
using cofferdam::detail::base64_encode;
using cofferdam::docker::detail::find_registry_login;
using cofferdam::docker::detail::read_helper_answer;
using cofferdam::docker::detail::registry_credentials;
using cofferdam::docker::detail::registry_login;
using namespace cofferdam::docker;
using cofferdam_test::fake_host;
using cofferdam_test::sentence_of;

std::string plain(const std::string& header) {
  const std::optional<bytes> raw = base64_decode(header, base64_alphabet::url);
  return raw ? std::string(as_text(*raw)) : "not base64";
}

std::string header_for(const std::string& config, std::string_view registry) {
  const registry_login login = find_registry_login(fake_host().config(config).view(), registry);
  EXPECT_FALSE(login.needs_helper());
  return plain(login.credentials().header());
}

TEST(RegistryLogin, without_a_configuration_one_is_nobody) {
  const registry_login login = find_registry_login(fake_host().view(), "box:5000");
  EXPECT_FALSE(login.needs_helper());
  EXPECT_TRUE(login.credentials().is_anonymous());
  EXPECT_EQ(login.credentials().header(), "e30=");
  EXPECT_EQ(header_for("{}", "box"), "{}");
  EXPECT_EQ(header_for(R"({"auths":{"box":{}}})", "box"), "{}");
}

TEST(RegistryLogin, a_stored_password_becomes_the_header) {
  // The text "YWxpY2U6czNjcmV0" is base64 of alice:s3cret.
  EXPECT_EQ(header_for(R"({"auths":{"127.0.0.1:5001":{"auth":"YWxpY2U6czNjcmV0"}}})", "127.0.0.1:5001"),
            R"({"username":"alice","password":"s3cret","serveraddress":"127.0.0.1:5001"})");
  EXPECT_EQ(header_for(R"({"auths":{"b":{"username":"u","password":"p:q"}}})", "b"),
            R"({"username":"u","password":"p:q","serveraddress":"b"})");
}

TEST(RegistryLogin, a_password_may_have_colons_and_loses_padding_of_zeros) {
  EXPECT_EQ(
      header_for(R"({"auths":{"b":{"auth":")" + base64_encode(as_bytes(std::string_view("u:a:b\0\0", 7))) + R"("}}})",
                 "b"),
      R"({"username":"u","password":"a:b","serveraddress":"b"})");
}

TEST(RegistryLogin, the_header_has_the_alphabet_of_urls_and_padding) {
  const registry_credentials credentials = registry_credentials::password("b", "u", "\xc3\xbf\xc3\xbf>>>???");
  EXPECT_EQ(credentials.header().find_first_of("+/"), std::string::npos);
  EXPECT_NE(credentials.header().find_first_of("-_"), std::string::npos);
  EXPECT_EQ(credentials.header().size() % 4, 0U);
}

TEST(RegistryLogin, a_token_goes_without_a_name) {
  EXPECT_EQ(header_for(R"({"auths":{"b":{"auth":"dTpw","identitytoken":"tok"}}})", "b"),
            R"({"identitytoken":"tok","serveraddress":"b"})");
}

TEST(RegistryLogin, keys_are_found_with_a_scheme_and_a_path_around_the_host) {
  EXPECT_EQ(header_for(R"({"auths":{"http://b:1/v2/":{"auth":"dTpw"}}})", "b:1"),
            R"({"username":"u","password":"p","serveraddress":"b:1"})");
  EXPECT_EQ(header_for(R"({"auths":{"b:12":{"auth":"dTpw"}}})", "b:1"), "{}");
}

TEST(RegistryLogin, the_hub_has_a_name_of_its_own) {
  EXPECT_EQ(header_for(R"({"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"}}})", "docker.io"),
            R"({"username":"u","password":"p","serveraddress":"https://index.docker.io/v1/"})");
}

TEST(RegistryLogin, a_helper_of_the_registry_goes_before_the_store_and_that_before_the_file) {
  const std::string auths = R"("auths":{"b":{"auth":"dTpw"},"c":{"auth":"dTpw"}})";
  fake_host host;
  host.config("{" + auths + R"(,"credsStore":"pass","credHelpers":{"b":"gcr","c":""}})");
  const registry_login named = find_registry_login(host.view(), "b");
  EXPECT_EQ(named.helper(), "docker-credential-gcr");
  EXPECT_EQ(named.helper_input(), "b");
  // An empty name of a helper selects the password in the file.
  EXPECT_EQ(find_registry_login(host.view(), "c").helper(), "");
  EXPECT_FALSE(find_registry_login(host.view(), "c").credentials().is_anonymous());
  EXPECT_EQ(find_registry_login(host.view(), "d").helper(), "docker-credential-pass");
  EXPECT_EQ(find_registry_login(host.view(), "docker.io").helper_input(), "https://index.docker.io/v1/");
}

TEST(RegistryLogin, a_helper_is_a_name_and_never_a_path) {
  for (const char* const name : {"../x", "/bin/sh", "a b", "a;b", "a\\u0000b"}) {
    fake_host host;
    host.config(std::string(R"({"credsStore":")") + name + "\"}");
    EXPECT_NE(sentence_of([&] { find_registry_login(host.view(), "b"); }).find("credential helper"), std::string::npos)
        << name;
  }
}

TEST(RegistryLogin, what_a_helper_answers_is_read) {
  const registry_login login("docker-credential-pass", "b");
  EXPECT_EQ(plain(read_helper_answer(login, 0, R"({"ServerURL":"b","Username":"u","Secret":"p"})").header()),
            R"({"username":"u","password":"p","serveraddress":"b"})");
  EXPECT_EQ(plain(read_helper_answer(login, 0, R"({"Username":"<token>","Secret":"t"})").header()),
            R"({"identitytoken":"t","serveraddress":"b"})");
  EXPECT_TRUE(read_helper_answer(login, 1, "credentials not found in native keychain\n").is_anonymous());
}

TEST(RegistryLogin, several_go_to_the_classic_builder_at_once) {
  const std::string header =
      registry_credentials::build_header({registry_credentials::password("b", "u", "p"), registry_credentials(),
                                          registry_credentials::identity_token("c", "t")});
  EXPECT_EQ(plain(header), R"({"b":{"username":"u","password":"p"},"c":{"identitytoken":"t"}})");
}

TEST(RegistryLogin, errors_hold_nothing_of_a_secret) {
  const registry_login login("docker-credential-pass", "b");
  EXPECT_EQ(sentence_of([&] { read_helper_answer(login, 3, "s3cret"); }).find("s3cret"), std::string::npos);
  EXPECT_EQ(sentence_of([&] { read_helper_answer(login, 0, "s3cret"); }).find("s3cret"), std::string::npos);
  EXPECT_EQ(sentence_of([&] { read_helper_answer(login, 0, R"({"Username":"s3cret"})"); }).find("s3cret"),
            std::string::npos);
  fake_host host;
  for (const char* const config : {R"({"auths":{"b":{"auth":"czNjcmV0"}}})", R"({"auths":{"b":{"auth":"czNjcmV"}}})",
                                   R"({"auths":{"b":{"auth":"s3cret)"}) {
    host.config(config);
    const std::string sentence = sentence_of([&] { find_registry_login(host.view(), "b"); });
    EXPECT_EQ(sentence.find("s3cret"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("czNj"), std::string::npos) << sentence;
  }
  EXPECT_EQ(sentence_of([] { registry_credentials::password("b", "u", "s3cret\xff").header(); }).find("s3cret"),
            std::string::npos);
}

}  // namespace
