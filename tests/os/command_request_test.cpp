// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/os/command_request.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace command_request_tests {

using namespace cofferdam;

namespace {

/// Returns the value of a variable of a request; "none" if it is not there, "twice" if it is there twice.
std::string value_of(const spawn_request& request, const std::string& name) {
  std::string value = "none";
  for (const std::string& each : request.variables)
    if (each.starts_with(name + "=")) value = value == "none" ? each.substr(name.size() + 1) : "twice";
  return value;
}

TEST(CommandRequest, the_url_of_a_proxy_has_the_label_of_the_command) {
  const std::vector<std::string> variables{"A=1", "HTTP_PROXY=http://old"};
  const spawn_request none = request_for(shell("x").label("job"), "/bin/sh", variables);
  EXPECT_EQ(none.variables, variables);
  const spawn_request without_label = request_for(shell("x"), "/bin/sh", variables, 8080);
  EXPECT_EQ(value_of(without_label, "A"), "1");
  EXPECT_EQ(value_of(without_label, "HTTP_PROXY"), "http://127.0.0.1:8080");
  EXPECT_EQ(value_of(without_label, "GIT_HTTP_PROXY_AUTHMETHOD"), "none");
  const spawn_request labelled = request_for(shell("x").label("job"), "/bin/sh", variables, 8080);
  for (const char* name : {"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"})
    EXPECT_EQ(value_of(labelled, name), "http://job:x@127.0.0.1:8080") << name;
  EXPECT_EQ(value_of(labelled, "NO_PROXY"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(value_of(labelled, "GIT_HTTP_PROXY_AUTHMETHOD"), "basic");
}

TEST(CommandRequest, a_variable_of_the_command_replaces_that_of_the_proxy) {
  const command c = shell("x").label("job").variable("https_proxy", "http://own");
  const spawn_request request = request_for(c, "/bin/sh", {}, 8080);
  EXPECT_EQ(value_of(request, "https_proxy"), "http://own");
  EXPECT_EQ(value_of(request, "HTTPS_PROXY"), "http://job:x@127.0.0.1:8080");
}

}  // namespace

}  // namespace command_request_tests
