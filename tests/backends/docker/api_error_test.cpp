// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/api_error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <system_error>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::api_call;
using cofferdam::docker::detail::api_error;
using cofferdam::docker::detail::api_message;
using cofferdam::docker::detail::connect_error;
using cofferdam::docker::detail::http_status_category;
using cofferdam::docker::detail::stream_error;
using namespace cofferdam::docker;

const api_call create("create the container", "box", "unix:///x.sock");

error said(unsigned status, const std::string& message) {
  return api_error(status, "{\"message\":\"" + message + "\"}\n", create);
}

TEST(ApiError, it_names_the_call_the_daemon_what_it_said_and_what_to_do) {
  const error failure = said(404, "No such image: nope:9");
  EXPECT_EQ(failure.code(), exec_errc::not_found);
  EXPECT_EQ(failure.cause().value(), 404);
  EXPECT_EQ(failure.cause().category(), http_status_category());
  EXPECT_EQ(failure.cause().message(), "HTTP status 404");
  EXPECT_STREQ(failure.what(),
               "docker: cannot create the container \"box\" (unix:///x.sock): the daemon answers 404, \"No such image: "
               "nope:9\"; pull it first: docker pull");
}

TEST(ApiError, the_daemons_sentences_have_their_codes_whatever_the_status) {
  struct {
    unsigned status;
    const char* message;
    exec_errc code;
  } const cases[] = {
      {404, "No such container: nope", exec_errc::provider_lost},
      {500, "no container with name or ID nope found: no such container", exec_errc::provider_lost},
      {409, "Container 12 is not running", exec_errc::provider_lost},
      {500, "can only kill running containers. 12 is in state exited: container state improper",
       exec_errc::provider_lost},
      {409, "Conflict. The container name /x is already in use by container 12", exec_errc::already_exists},
      {500, "creating container storage: the container name x is already in use", exec_errc::already_exists},
      {400, "invalid reference format: repository name must be lowercase", exec_errc::invalid_argument},
      {400, "Unknown runtime specified runsc", exec_errc::unsupported},
      {400, "client version 1.55 is too new. Maximum supported API version is 1.41", exec_errc::unsupported},
      {400, "client version 1.11 is too old. Minimum supported API version is 1.12, please upgrade",
       exec_errc::unsupported},
      {500, "write /var/lib/docker/x: no space left on device", exec_errc::io_error},
      {500, "Head http://box/v2/: no basic auth credentials", exec_errc::permission_denied},
      {500, "unauthorized: authentication required", exec_errc::permission_denied},
      {404, "pull access denied for x, repository does not exist", exec_errc::permission_denied},
      {404, "manifest for box/x:nope not found: manifest unknown: manifest unknown", exec_errc::not_found},
      {404, "no matching manifest for linux/arm64/v8 in the manifest list entries", exec_errc::not_found},
      {429, "toomanyrequests: You have reached your pull rate limit", exec_errc::provider_failed},
      {500, "dial tcp: lookup box: no such host", exec_errc::provider_failed},
      {500, "unable to find user nosuch: no matching entries in passwd file", exec_errc::invalid_argument},
      {400, "invalid mount config: bind source path does not exist: /nope", exec_errc::not_found},
      {400, "failed to create shim task: OCI runtime create failed: exec format error", exec_errc::provider_failed},
      {403, "authorization denied by plugin x: no", exec_errc::permission_denied},
      {404, "page not found", exec_errc::not_found},
      {400, "something new", exec_errc::invalid_argument},
      {500, "something new", exec_errc::provider_failed},
      {503, "something new", exec_errc::provider_failed},
      {500, "The command '/bin/sh -c echo no space left on device' returned a non-zero code: 1",
       exec_errc::provider_failed},
  };
  for (const auto& sample : cases) EXPECT_EQ(said(sample.status, sample.message).code(), sample.code) << sample.message;
}

TEST(ApiError, an_answer_that_is_no_json_is_quoted) {
  const error plain = api_error(400, "client version 1.11 is too old. Minimum supported API version is 1.12\n", create);
  EXPECT_EQ(plain.code(), exec_errc::unsupported);
  EXPECT_EQ(api_message("<html>x</html>"), "<html>x</html>");
  EXPECT_EQ(api_message(R"(["message"])"), R"(["message"])");
  EXPECT_EQ(api_message(R"({"cause":"c","message":"m","response":404})"), "m");
  EXPECT_EQ(api_message(R"({"cause":"c"})"), "c");
  EXPECT_EQ(std::string(api_error(502, "", create).what()).find("\"\""), std::string::npos);
}

TEST(ApiError, what_a_peer_says_cannot_forge_a_line_or_fill_memory) {
  const std::string what =
      api_error(500, "x\"\n\x1b[31mdocker: all is well\r" + std::string(100'000, 'y'), create).what();
  EXPECT_EQ(what.find('\n'), std::string::npos);
  EXPECT_EQ(what.find('\x1b'), std::string::npos);
  EXPECT_NE(what.find("x\\\"\\n"), std::string::npos) << what;
  EXPECT_LT(what.size(), 1000U);
}

TEST(ApiError, passwords_in_addresses_are_left_out) {
  for (const char* const text : {"Get https://ann:s3cret@box/v2/: EOF", "proxyconnect http://s3cret@proxy:1",
                                 "a://b c://u:s3cret@d", "\\\"https://u:s3cret@x\\\""}) {
    const std::string what = said(500, text).what();
    EXPECT_EQ(what.find("s3cret"), std::string::npos) << what;
  }
  EXPECT_NE(std::string(said(500, "Get https://box/v2/a@b: EOF").what()).find("box/v2/a@b"), std::string::npos);
}

TEST(ApiError, an_error_inside_a_stream_is_judged_by_its_sentence) {
  EXPECT_EQ(stream_error("toomanyrequests: slow down", create).code(), exec_errc::provider_failed);
  EXPECT_EQ(stream_error("manifest unknown", create).code(), exec_errc::not_found);
  EXPECT_NE(std::string(stream_error("EOF", create).what()).find("\"EOF\""), std::string::npos);
}

TEST(ConnectError, each_way_to_fail_says_what_to_do) {
  const auto failed = [](std::errc why) {
    return connect_error(std::make_error_code(why), "unix:///x.sock", {"DOCKER_HOST is not set", "unix:///x.sock"});
  };
  const error missing = failed(std::errc::no_such_file_or_directory);
  EXPECT_EQ(missing.code(), exec_errc::provider_failed);
  EXPECT_EQ(missing.cause(), std::errc::no_such_file_or_directory);
  for (const char* const part : {"unix:///x.sock", "start the daemon", "DOCKER_HOST is not set"})
    EXPECT_NE(std::string(missing.what()).find(part), std::string::npos) << part;
  EXPECT_EQ(failed(std::errc::permission_denied).code(), exec_errc::permission_denied);
  EXPECT_NE(std::string(failed(std::errc::permission_denied).what()).find("group"), std::string::npos);
  EXPECT_NE(std::string(failed(std::errc::connection_refused).what()).find("no process listens there"),
            std::string::npos);
  EXPECT_EQ(failed(std::errc::timed_out).code(), exec_errc::provider_failed);
}

}  // namespace
