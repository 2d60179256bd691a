// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/make_provider.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>

namespace make_provider_tests {

using namespace cofferdam;
using cofferdam_test::code_of;
using cofferdam_test::sentence_of;

TEST(make_provider, ssh_needs_a_host_that_is_no_option) {
  EXPECT_NO_THROW(make_provider("ssh:user@build-host"));
  for (const char* const name : {"ssh", "ssh:", "ssh:-oProxyCommand=touch x"})
    EXPECT_EQ(code_of([&] { make_provider(name); }), exec_errc::invalid_argument) << name;
}

TEST(make_provider, an_unknown_name_lists_the_known_ones) {
  const std::string sentence = sentence_of([] { make_provider("telnet:host"); });
  EXPECT_NE(sentence.find("sandbox, local, jail, docker:IMAGE, kubernetes:IMAGE, e2b:TEMPLATE, ssh:HOST"),
            std::string::npos)
      << sentence;
}

}  // namespace make_provider_tests
