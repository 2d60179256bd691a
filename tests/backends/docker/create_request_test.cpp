// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/create_request.hpp>

#include "support/error_of.hpp"
#include "support/fake_host.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::command_user;
using cofferdam::docker::detail::create_request;
using cofferdam::docker::detail::owner;
using namespace cofferdam::docker;
using cofferdam_test::code_of;
using cofferdam_test::fake_host;
namespace json = boost::json;

const owner somebody("0b7e5f8e-9c0f-4b9f-8a55-6d5d2a7c1e11", 7, 100, 5000);

create_request request(container_options options = container_options()) {
  return create_request("sha256:12", "cofferdam-1", {"/.cofferdam/warden"}, std::move(options));
}

json::object body_of(const create_request& container_request) { return container_request.body(fake_host().view()); }

std::string guest_user_of(std::string_view image_user, container_options options = container_options()) {
  create_request container_request = request(std::move(options));
  return container_request.image_user(image_user).guest_user();
}

json::value host_of(const create_request& container_request) { return body_of(container_request).at("HostConfig"); }

TEST(CreateRequest, the_whole_body_is_hardened_by_default) {
  create_request container_request = request();
  container_request.reaps().programs("cofferdam-warden-12", "/.cofferdam").owned_by(somebody, "box").image_user("");
  json::value expected = json::parse(R"({
    "Image":"sha256:12","Entrypoint":["/.cofferdam/warden"],"Cmd":[],"User":"1000:1000","WorkingDir":"/workspace",
    "Hostname":"sandbox","Env":[],"OpenStdin":true,"StdinOnce":true,"AttachStdin":true,"AttachStdout":true,
    "AttachStderr":true,"Tty":false,"Healthcheck":{"Test":["NONE"]},"StopTimeout":1,
    "Labels":{"cofferdam.owner":"1:0b7e5f8e-9c0f-4b9f-8a55-6d5d2a7c1e11:7:100:5000:cofferdam-1",
              "cofferdam.host":"box","cofferdam.deadline":""},
    "HostConfig":{"AutoRemove":true,"Privileged":false,"PublishAllPorts":false,"NetworkMode":"none","IpcMode":"private",
      "LogConfig":{"Type":"none"},"CapDrop":["ALL"],"SecurityOpt":["no-new-privileges"],"ReadonlyRootfs":true,
      "Init":false,"Memory":1073741824,"MemorySwap":1073741824,"PidsLimit":256,"NanoCpus":2000000000,
      "Ulimits":[{"Name":"core","Soft":0,"Hard":0}],"OomScoreAdj":500,"ShmSize":67108864,"Tmpfs":{
        "/workspace":"rw,nosuid,nodev,exec,size=536870912,mode=0755,uid=1000,gid=1000",
        "/tmp":"rw,nosuid,nodev,exec,size=268435456,mode=1777"},
      "Mounts":[{"Type":"volume","Source":"cofferdam-warden-12","Target":"/.cofferdam","ReadOnly":true,
                 "VolumeOptions":{"NoCopy":true}}]}})");
  expected.as_object()["Labels"].as_object()["cofferdam.version"] = version.data();
  EXPECT_EQ(json::value(body_of(container_request)), expected) << json::serialize(body_of(container_request));
}

// Feature: B24
TEST(CreateRequest, every_option_arrives) {
  container_options options;
  options.user("7:8").working_directory("/w").variable("A", "1").memory(64 << 20).cpus(0.5).pids(99).network("bridge");
  options.tmpfs(tmpfs_mount("/t", 4096))
      .add(mount::bind("/srv/data", "/in").read_only())
      .add(mount::volume("out", "/out"));
  options.runtime("runsc").label("team", "x").platform("linux/arm64");
  const create_request container_request = request(options);
  const json::object body = body_of(container_request);
  EXPECT_EQ(body.at("User"), "7:8");
  EXPECT_EQ(body.at("WorkingDir"), "/w");
  EXPECT_EQ(body.at("Env"), json::parse(R"(["A=1"])"));
  EXPECT_EQ(body.at("Labels").at("team"), "x");
  const json::value& host = body.at("HostConfig");
  EXPECT_EQ(host.at("Memory"), 64 << 20);
  EXPECT_EQ(host.at("MemorySwap"), 64 << 20);
  EXPECT_EQ(host.at("NanoCpus"), 500'000'000);
  EXPECT_EQ(host.at("PidsLimit"), 99);
  EXPECT_EQ(host.at("NetworkMode"), "bridge");
  EXPECT_EQ(host.at("Runtime"), "runsc");
  EXPECT_EQ(host.at("Init"), true);
  EXPECT_EQ(host.at("Tmpfs").at("/t"), "rw,nosuid,nodev,noexec,size=4096,mode=0755,uid=7,gid=8");
  EXPECT_EQ(host.at("Mounts"), json::parse(R"([
    {"Type":"bind","Source":"/srv/data","Target":"/in","ReadOnly":true},
    {"Type":"volume","Source":"out","Target":"/out","ReadOnly":false,"VolumeOptions":{"NoCopy":true}}])"));
  EXPECT_EQ(container_request.query(), "name=cofferdam-1&platform=linux%2Farm64");
}

TEST(CreateRequest, devices_shared_memory_and_names_arrive_as_the_engine_wants_them) {
  container_options options;
  options.network("bridge").dns("1.1.1.1").extra_host("db", "10.0.0.7").shm_size(256 << 20).gpus("all");
  const json::value host = host_of(request(options));
  EXPECT_EQ(host.at("Dns"), json::parse(R"(["1.1.1.1"])"));
  EXPECT_EQ(host.at("ExtraHosts"), json::parse(R"(["db:10.0.0.7"])"));
  EXPECT_EQ(host.at("ShmSize"), 256 << 20);
  EXPECT_EQ(host.at("DeviceRequests"),
            json::parse(R"([{"Driver":"","Count":-1,"DeviceIDs":[],"Capabilities":[["gpu"]],"Options":{}}])"));
  const json::value named = host_of(request(container_options().gpus("device=0,1")));
  EXPECT_EQ(named.at("DeviceRequests"),
            json::parse(R"([{"Driver":"","Count":0,"DeviceIDs":["0","1"],"Capabilities":[["gpu"]],"Options":{}}])"));
}

TEST(CreateRequest, variables_are_not_in_the_configuration_of_what_can_be_saved) {
  const container_options options = container_options().variable("API_KEY", "secret");
  EXPECT_EQ(body_of(request(options)).at("Env"), json::parse(R"(["API_KEY=secret"])"));
  container_options writable = options;
  EXPECT_EQ(body_of(request(writable.writable_root())).at("Env"), json::array());
}

TEST(CreateRequest, options_that_contradict_each_other_are_refused) {
  EXPECT_EQ(cofferdam_test::sentence_of([] { body_of(request(container_options().dns("1.1.1.1"))); }),
            "docker: dns has no effect without a network: add network(\"bridge\"), or leave out dns");
  container_options twice = container_options().shm_size(1 << 20).tmpfs(tmpfs_mount("/dev/shm", 4096));
  EXPECT_EQ(code_of([&] { body_of(request(twice)); }), exec_errc::invalid_argument);
}

// Feature: B26
TEST(CreateRequest, a_user_that_is_root_becomes_an_ordinary_one_unless_asked_for) {
  for (const char* const root : {"", "0", "root", "root:staff", "0:1000", "00", "+0", "-0", ":1000"})
    EXPECT_EQ(guest_user_of(root), "1000:1000") << root;
  for (const char* const other : {"app", "1000", "10", "rootless", "app:root"}) EXPECT_EQ(guest_user_of(other), other);
  EXPECT_EQ(guest_user_of("app", container_options().user("0")), "0");
}

TEST(CreateRequest, the_owner_of_the_workspaces_folder_comes_before_the_images_user) {
  create_request owned = request();
  owned.image_user("app").workspace_owner(4321, 8765);
  EXPECT_EQ(owned.guest_user(), "4321:8765");
  create_request container_request = request(container_options().user("1000"));
  container_request.workspace_owner(4321, 8765);
  EXPECT_EQ(container_request.guest_user(), "1000");
}

TEST(CreateRequest, a_first_program_that_sets_users_has_what_that_takes_and_no_more) {
  create_request container_request = request();
  container_request.commands(command_user::set_by_first);
  EXPECT_EQ(body_of(container_request).at("User"), "0:0");
  EXPECT_EQ(host_of(container_request).at("CapDrop"), json::parse(R"(["ALL"])"));
  EXPECT_EQ(host_of(container_request).at("CapAdd"), json::parse(R"(["KILL","SETGID","SETUID"])"));
  EXPECT_FALSE(host_of(request()).as_object().contains("CapAdd"));
}

TEST(CreateRequest, a_read_only_root_has_a_workspace_and_a_tmp_of_its_own) {
  const json::value host = host_of(request(container_options()));
  EXPECT_EQ(host.at("ReadonlyRootfs"), true);
  EXPECT_EQ(host.at("Tmpfs").at("/workspace"), "rw,nosuid,nodev,exec,size=536870912,mode=0755,uid=1000,gid=1000");
  EXPECT_EQ(host.at("Tmpfs").at("/tmp"), "rw,nosuid,nodev,exec,size=268435456,mode=1777");
  container_options options = container_options().add(mount::volume("data", "/workspace"));
  options.user("app").tmpfs(tmpfs_mount("/tmp", 8192));
  const json::value own = host_of(request(options));
  EXPECT_EQ(own.at("Tmpfs").as_object().size(), 1U);
  EXPECT_EQ(own.at("Tmpfs").at("/tmp"), "rw,nosuid,nodev,noexec,size=8192,mode=1777");
}

TEST(CreateRequest, more_cpus_than_there_are_is_all_of_them) {
  create_request container_request = request(container_options().cpus(64));
  EXPECT_EQ(host_of(container_request.host_cpus(4)).at("NanoCpus"), 4'000'000'000);
}

TEST(CreateRequest, a_deadline_is_seconds_since_1970) {
  create_request container_request = request();
  container_request.deadline(std::chrono::system_clock::time_point(std::chrono::seconds(1795200000)));
  EXPECT_EQ(body_of(container_request).at("Labels").at("cofferdam.deadline"), "1795200000");
}

TEST(CreateRequest, nothing_stands_where_the_librarys_programs_are) {
  for (const char* const path : {"/.cofferdam", "/.cofferdam/x"}) {
    create_request container_request = request(container_options().tmpfs(tmpfs_mount(path, 4096)));
    container_request.programs("cofferdam-warden", "/.cofferdam");
    EXPECT_EQ(code_of([&] { body_of(container_request); }), exec_errc::invalid_argument) << path;
  }
  create_request above = request(container_options().add(mount::volume("vv", "/opt")));
  above.programs("cofferdam-warden", "/opt/cofferdam");
  EXPECT_EQ(code_of([&] { body_of(above); }), exec_errc::invalid_argument);
}

TEST(CreateRequest, what_is_no_request_is_refused) {
  const container_options plain;
  EXPECT_EQ(code_of([&] { create_request("", "nn", {"/x"}, plain); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { create_request("a\xff", "nn", {"/x"}, plain); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { create_request("a", "n n", {"/x"}, plain); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { create_request("a", "n&x=1", {"/x"}, plain); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { create_request("a", "nn", {}, plain); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { create_request("a", "nn", {""}, plain); }), exec_errc::invalid_argument);
}

}  // namespace
