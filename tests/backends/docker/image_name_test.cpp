// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/image_name.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using namespace cofferdam;
using namespace std::string_view_literals;
using cofferdam::docker::detail::image_name;
using cofferdam_test::code_of;

const std::string hex64 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

std::string completed(std::string_view text) { return image_name(text).text(); }

TEST(ImageName, what_is_left_out_is_completed) {
  EXPECT_EQ(completed("busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(completed("busybox:1.36"), "docker.io/library/busybox:1.36");
  EXPECT_EQ(completed("ann/app"), "docker.io/ann/app:latest");
  EXPECT_EQ(completed("docker.io/busybox"), "docker.io/library/busybox:latest");
  EXPECT_EQ(completed("index.docker.io/ann/app"), "docker.io/ann/app:latest");
  EXPECT_EQ(completed("r.example/a/b/c:x"), "r.example/a/b/c:x");
  EXPECT_EQ(completed("r.example/a"), "r.example/a:latest");
}

TEST(ImageName, the_first_part_is_a_registry_where_it_looks_like_a_host) {
  EXPECT_EQ(image_name("localhost/a").registry(), "localhost");
  EXPECT_EQ(image_name("box:5000/a").registry(), "box:5000");
  EXPECT_EQ(image_name("127.0.0.1:5000/a/b:t").registry(), "127.0.0.1:5000");
  EXPECT_EQ(image_name("[::1]:5000/a").registry(), "[::1]:5000");
  EXPECT_EQ(image_name("My-Box.Example/a").registry(), "My-Box.Example");
  EXPECT_EQ(image_name("box/a").registry(), image_name::hub);
  // Without a slash, the text after the colon is a tag and not a port.
  EXPECT_EQ(image_name("box:5000").text(), "docker.io/library/box:5000");
}

TEST(ImageName, a_digest_goes_without_latest_and_decides_the_pull) {
  const image_name plain("busybox@sha256:" + hex64);
  EXPECT_EQ(plain.tag(), "");
  EXPECT_EQ(plain.digest(), "sha256:" + hex64);
  EXPECT_EQ(plain.pull_from(), "docker.io/library/busybox@sha256:" + hex64);
  EXPECT_EQ(plain.pull_tag(), "");
  const image_name both("busybox:1@sha256:" + hex64);
  EXPECT_EQ(both.tag(), "1");
  EXPECT_EQ(both.pull_from(), "docker.io/library/busybox@sha256:" + hex64);
  EXPECT_EQ(both.pull_tag(), "");
  EXPECT_EQ(both.text(), "docker.io/library/busybox:1@sha256:" + hex64);
}

TEST(ImageName, a_pull_always_has_a_tag_or_a_digest) {
  EXPECT_EQ(image_name("busybox").pull_tag(), "latest");
  EXPECT_EQ(image_name("busybox").pull_from(), "docker.io/library/busybox");
}

TEST(ImageName, an_id_is_no_name) {
  for (const std::string& text : {hex64, "sha256:" + hex64}) {
    const image_name name(text);
    EXPECT_TRUE(name.is_id());
    EXPECT_EQ(name.text(), "sha256:" + hex64);
    EXPECT_EQ(name.repository(), "");
  }
  EXPECT_FALSE(image_name("sha256").is_id());
}

TEST(ImageName, separators_stand_alone_between_letters_and_digits) {
  for (const std::string_view good : {"a.b", "a_b", "a__b", "a-b", "a---b", "a/b-c.d_e__f", "0/1"})
    EXPECT_EQ(image_name(good).tag(), "latest") << good;
  for (const std::string_view bad :
       {"a..b", "a___b", "a._b", "a-.b", "-a", "a-", ".a", "a.", "_a", "a_", "a//b", "/a", "a/", "a/-b", "a b", "a+b"})
    EXPECT_EQ(code_of([&] { image_name{bad}; }), exec_errc::invalid_argument) << bad;
}

TEST(ImageName, what_docker_refuses_is_refused) {
  for (const std::string_view bad : {""sv,
                                     "Busybox"sv,
                                     "Ann/app"sv,
                                     "a:"sv,
                                     "a:-x"sv,
                                     "a:.x"sv,
                                     "a:b:c"sv,
                                     "a@"sv,
                                     "a@sha256:"sv,
                                     "a@sha256:12"sv,
                                     "a@md5:0123456789abcdef0123456789abcdef"sv,
                                     "a@b@c"sv,
                                     ":x"sv,
                                     "@sha256:x"sv,
                                     "box:x/a"sv,
                                     "-box.x/a"sv,
                                     "box.x-/a"sv,
                                     "a..b/c"sv,
                                     "[::1/a"sv,
                                     "[x]/a"sv,
                                     "[::1]5/a"sv,
                                     "box:123456/a"sv,
                                     "box:/a"sv,
                                     "https://box/a"sv,
                                     "--privileged"sv,
                                     "a;b"sv,
                                     "a\n"sv,
                                     "a\0"sv,
                                     "\xc3\xa4"sv,
                                     "a:\xff"sv,
                                     "$(a)"sv,
                                     "a?b=c"sv,
                                     "a#b"sv,
                                     "a%2fb"sv})
    EXPECT_EQ(code_of([&] { image_name{bad}; }), exec_errc::invalid_argument) << bad;
  EXPECT_EQ(code_of([] { image_name{"a@sha256:" + std::string(64, 'A')}; }), exec_errc::invalid_argument);
}

TEST(ImageName, lengths_are_limited_as_the_daemon_limits_them) {
  EXPECT_EQ(image_name("a:" + std::string(128, 't')).tag().size(), 128U);
  EXPECT_EQ(code_of([] { image_name{"a:" + std::string(129, 't')}; }), exec_errc::invalid_argument);
  const std::string longest(255 - std::string_view("box.x/").size(), 'a');
  EXPECT_EQ(image_name("box.x/" + longest).path(), longest);
  EXPECT_EQ(code_of([&] { image_name{"box.x/" + longest + "a"}; }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([] { image_name{std::string(100'000, 'a')}; }), exec_errc::invalid_argument);
}

TEST(ImageName, two_spellings_of_one_image_are_equal) {
  EXPECT_EQ(image_name("busybox"), image_name("docker.io/library/busybox:latest"));
  EXPECT_NE(image_name("busybox"), image_name("busybox:1"));
}

}  // namespace
