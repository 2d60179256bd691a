// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/build_syntax.hpp>

#include <gtest/gtest.h>

namespace {

using cofferdam::docker::detail::builder;
using cofferdam::docker::detail::builder_for;
using cofferdam::docker::detail::engine_kind;
using cofferdam::docker::detail::needs_buildkit;

TEST(BuildSyntax, what_only_buildkit_knows_is_seen) {
  for (const char* const text :
       {"FROM a\nRUN --mount=type=cache,target=/c true", "FROM a\nrun \\\n  --mount=type=cache,target=/c \\\n  true\n",
        "FROM a\nRUN --network=none true", "FROM a\nCOPY --link a /b", "FROM a\nCOPY --chown=1 --link a /b",
        "FROM a\nCOPY --chmod=755 a /b", "FROM a\nADD --checksum=x http://a /b", "# syntax=docker/dockerfile:1\nFROM a",
        "#Syntax = x\nFROM a", "# escape=`\n# syntax=x\nFROM a", "FROM a\nRUN <<EOF\ntrue\nEOF\n",
        "FROM a\nRUN cat <<-'EOF' > /x\nx\nEOF\n", "FROM a\nCOPY <<x /a\nx\n",
        "FROM a\nONBUILD RUN --mount=type=tmpfs true", "FROM a\r\nCOPY --link a /b\r\n",
        "FROM a\nRUN a \\\n# comment\n  b <<EOF\n"})
    EXPECT_TRUE(needs_buildkit(text)) << text;
}

TEST(BuildSyntax, what_both_builders_know_is_left_to_the_daemons_choice) {
  for (const char* const text :
       {"", "FROM --platform=linux/amd64 a AS b", "FROM a\nCOPY --from=b --chown=1:1 x /x",
        "FROM a\nADD --chown=1 x /x", "FROM a\nRUN tool --mount=x --link", "FROM a\nRUN \\\n  tool \\\n  --mount=x\n",
        "FROM a\n# syntax=late\n", "FROM a\nRUN expr 1 << 2", "FROM a\nRUN test 1 <<3", "FROM a\nENV A=<<EOF",
        "FROM a\nLABEL --mount=x", "FROM a\n# RUN --mount=x true\nRUN true\n",
        "FROM a\nHEALTHCHECK --interval=1s CMD true"})
    EXPECT_FALSE(needs_buildkit(text)) << text;
}

TEST(BuildSyntax, buildkit_builds_where_the_daemon_prefers_it_or_the_dockerfile_needs_it) {
  EXPECT_EQ(builder_for(engine_kind::docker, false, false), builder::classic);
  EXPECT_EQ(builder_for(engine_kind::docker, false, true), builder::buildkit);
  EXPECT_EQ(builder_for(engine_kind::docker, true, false), builder::buildkit);
  // Podman's classic builder differs from Docker's, and supports these lines.
  EXPECT_EQ(builder_for(engine_kind::podman, true, true), builder::classic);
}

}  // namespace
