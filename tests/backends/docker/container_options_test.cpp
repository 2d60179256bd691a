// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/container_options.hpp>

#include "support/error_of.hpp"
#include "support/fake_host.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::docker;
using namespace std::string_view_literals;
using cofferdam_test::code_of;
using cofferdam_test::fake_host;
using cofferdam_test::sentence_of;

template <class Set>
void refuses(Set set) {
  EXPECT_EQ(code_of(set), exec_errc::invalid_argument);
}

TEST(ContainerOptions, the_defaults_are_the_narrow_ones) {
  const container_options options;
  EXPECT_EQ(options.network(), "none");
  EXPECT_EQ(options.memory(), std::uint64_t{1} << 30);
  EXPECT_EQ(options.pids(), 256U);
  EXPECT_EQ(options.cpus(), 2);
  EXPECT_EQ(options.working_directory(), "/workspace");
  EXPECT_EQ(options.pull(), pull_policy::missing);
  EXPECT_TRUE(options.user().empty() && options.mounts().empty() && options.tmpfs().empty() &&
              options.runtime().empty());
}

TEST(ContainerOptions, users_are_numbers_or_names) {
  for (const std::string_view name : {"0", "1000", "1000:1000", "app", "app:staff", "_x", "a.b", "svc$"})
    EXPECT_EQ(container_options().user(name).user(), name);
  for (const std::string_view name :
       {""sv, ":"sv, "a:"sv, ":a"sv, "a:b:c"sv, "-x"sv, "a b"sv, "a\n"sv, "a\0"sv, "a/b"sv, "\xc3\xa4"sv, "+0"sv})
    refuses([&] { container_options().user(name); });
}

TEST(ContainerOptions, paths_in_the_container_have_one_spelling_and_stay_out_of_the_kernels) {
  EXPECT_EQ(container_options().working_directory("//a/./b/").working_directory(), "/a/b");
  for (const std::string_view path : {""sv, "a"sv, "/"sv, "//."sv, "/a/../b"sv, "/proc"sv, "/proc/1"sv, "/sys/fs"sv,
                                      "/dev"sv, "/dev/x"sv, "/a\0b"sv, "/a\xff"sv})
    refuses([&] { container_options().working_directory(path); });
  EXPECT_EQ(tmpfs_mount("/dev/shm", 4096).target(), "/dev/shm");
  EXPECT_EQ(container_options().working_directory("/process").working_directory(), "/process");
}

TEST(ContainerOptions, limits_are_within_what_the_daemon_takes) {
  EXPECT_EQ(container_options().memory(6 << 20).memory(), 6U << 20);
  refuses([] { container_options().memory((6 << 20) - 1); });
  refuses([] { container_options().memory(std::numeric_limits<std::uint64_t>::max()); });
  EXPECT_EQ(container_options().cpus(0.5).cpus(), 0.5);
  refuses([] { container_options().cpus(0); });
  refuses([] { container_options().cpus(-1); });
  refuses([] { container_options().cpus(std::numeric_limits<double>::quiet_NaN()); });
  refuses([] { container_options().cpus(std::numeric_limits<double>::infinity()); });
  refuses([] { container_options().pids(0); });
  refuses([] { tmpfs_mount("/t", 0); });
}

TEST(ContainerOptions, name_servers_and_hosts_have_addresses) {
  EXPECT_EQ(container_options().dns("1.1.1.1").dns("fd00::53").dns(),
            (std::vector<std::string>{"1.1.1.1", "fd00::53"}));
  for (const std::string_view address :
       {""sv, "dns"sv, "1.1.1"sv, "1.1.1.1:53"sv, "fe80::1%eth0"sv, "1.1.1.1 "sv, "1.1.1.1\0"sv})
    refuses([&] { container_options().dns(address); });
  EXPECT_EQ(container_options().extra_host("db", "10.0.0.7").extra_host("a-b.c_d", "::1").extra_hosts(),
            (std::vector<std::string>{"db:10.0.0.7", "a-b.c_d:::1"}));
  EXPECT_EQ(container_options().extra_host("h", "host-gateway").extra_hosts().front(), "h:host-gateway");
  for (const std::string_view name : {""sv, "a b"sv, "a:b"sv, "a\n"sv, "\xc3\xa4"sv})
    refuses([&] { container_options().extra_host(name, "10.0.0.7"); });
  refuses([] { container_options().extra_host("db", "other-host"); });
}

TEST(ContainerOptions, gpus_are_all_or_counted_or_named) {
  EXPECT_EQ(container_options().gpus("all").gpus()->count(), gpu_choice::every);
  EXPECT_EQ(container_options().gpus("2").gpus()->count(), 2);
  const gpu_choice named("device=0,GPU-3faa8c21");
  EXPECT_EQ(named.count(), 0);
  EXPECT_EQ(named.devices(), (std::vector<std::string>{"0", "GPU-3faa8c21"}));
  for (const std::string_view text :
       {""sv, "0"sv, "-1"sv, "1025"sv, "2 "sv, "some"sv, "device="sv, "device=0,"sv, "device=0,,1"sv, "device=a b"sv})
    refuses([&] { container_options().gpus(text); });
  EXPECT_FALSE(container_options().gpus());
}

TEST(ContainerOptions, shared_memory_has_a_size) {
  EXPECT_EQ(container_options().shm_size(), 64U << 20);
  EXPECT_EQ(container_options().memory(64 << 20).shm_size(), 8U << 20);
  EXPECT_EQ(container_options().shm_size(1 << 30).shm_size(), 1U << 30);
  refuses([] { container_options().shm_size(4095); });
}

TEST(ContainerOptions, a_network_is_never_the_hosts_or_another_containers) {
  EXPECT_EQ(container_options().network("bridge").network(), "bridge");
  EXPECT_EQ(container_options().network("my_net-1.x").network(), "my_net-1.x");
  for (const std::string_view name : {"", "host", "container:x", "ns:/proc/1/ns/net", "a b", "-x"})
    refuses([&] { container_options().network(name); });
}

TEST(ContainerOptions, two_things_at_one_path_are_refused) {
  container_options options;
  options.add(mount::volume("data", "/d")).tmpfs(tmpfs_mount("/t", 4096));
  refuses([&] { options.tmpfs(tmpfs_mount("/d/", 4096)); });
  refuses([&] { options.add(mount::bind("/srv/x", "/t")); });
  EXPECT_NO_THROW(options.add(mount::bind("/srv/x", "/t/below")));
}

TEST(ContainerOptions, names_are_names) {
  refuses([] { mount::volume("", "/d"); });
  refuses([] { mount::volume("x", "/d"); });
  refuses([] { mount::volume("../x", "/d"); });
  refuses([] { mount::bind("x", "/d"); });
  refuses([] { mount::bind("/x/../y", "/d"); });
  refuses([] { container_options().runtime("/bin/sh"); });
  EXPECT_EQ(container_options().runtime("runsc").runtime(), "runsc");
  for (const std::string_view name : {"linux", "linux/arm64", "linux/arm/v7"})
    EXPECT_EQ(container_options().platform(name).platform(), name);
  for (const std::string_view name : {"", "windows", "linuxx", "linux/", "linux//v7", "linux/a/b/c", "linux/arm&x=1"})
    refuses([&] { container_options().platform(name); });
}

TEST(ContainerOptions, variables_are_given_or_forwarded_and_missing_ones_are_named) {
  container_options options;
  options.variable("B", "x=y\nz").forward_variable("A").forward_variable("NOT_SET").variable("C", "");
  std::vector<std::string> missing;
  EXPECT_EQ(options.environment(fake_host().set("A", "1").view(), &missing),
            (std::vector<std::string>{"A=1", "B=x=y\nz", "C="}));
  EXPECT_EQ(missing, std::vector<std::string>{"NOT_SET"});
  EXPECT_NO_THROW(options.environment(fake_host().view()));
}

TEST(ContainerOptions, values_of_variables_never_stand_in_an_error) {
  for (const std::string_view value : {"s3cret\0"sv, "s3cret\xff"sv}) {
    const std::string sentence = sentence_of([&] { container_options().variable("TOKEN", value); });
    EXPECT_EQ(sentence.find("s3cret"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("TOKEN"), std::string::npos) << sentence;
    const std::string forwarded = sentence_of([&] {
      container_options().forward_variable("TOKEN").environment(fake_host().set("TOKEN", std::string(value)).view());
    });
    EXPECT_EQ(forwarded.find("s3cret"), std::string::npos) << forwarded;
  }
  for (const std::string_view name : {""sv, "A=B"sv, "A\0"sv, "A\nB"sv, "\xff"sv})
    refuses([&] { container_options().variable(name, "x"); });
}

}  // namespace
