// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/backends/docker/detail/container_check.hpp>
#include <cofferdam/backends/docker/detail/create_request.hpp>

#include "support/error_of.hpp"
#include "support/fake_host.hpp"
#include "support/inspected_container.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::check_container;
using cofferdam::docker::detail::command_user;
using cofferdam::docker::detail::container_check;
using cofferdam::docker::detail::create_request;
using cofferdam::docker::detail::engine_kind;
using cofferdam::docker::detail::image_volume;
using namespace cofferdam::docker;
using cofferdam_test::fake_host;
using cofferdam_test::inspected_as_asked;
using cofferdam_test::sentence_of;
namespace json = boost::json;

json::object asked() {
  container_options options = container_options().runtime("runsc");
  options.add(mount::bind("/srv/data", "/in").read_only()).add(mount::volume("out", "/out"));
  create_request container_request("sha256:12", "cofferdam-1", {"/.cofferdam/warden"}, options);
  container_request.reaps().programs("cofferdam-warden-12", "/.cofferdam");
  return container_request.body(fake_host().view());
}

TEST(ContainerCheck, a_daemon_that_did_all_has_all_walls_up) {
  const container_check check = check_container(asked(), inspected_as_asked(asked()));
  EXPECT_TRUE(check.missing().empty()) << check.missing().front();
  EXPECT_NO_THROW(check.require());
  EXPECT_EQ(check.isolation().of(isolation_kind::memory), "limit of 1073741824 bytes, no swap");
  EXPECT_EQ(check.isolation().of(isolation_kind::process_count), "limit of 256");
  EXPECT_EQ(check.isolation().of(isolation_kind::network), "only its own loopback");
  EXPECT_EQ(check.isolation().of(isolation_kind::system_calls), "no capabilities, no new privileges");
  EXPECT_EQ(check.isolation().of(isolation_kind::process_tree), "all of the container");
  EXPECT_EQ(check.isolation().of(isolation_kind::signals), "all of the container");
  EXPECT_EQ(check.isolation().of(isolation_kind::files),
            "the image's files, read-only, unlimited space on the daemon's disk at /out, and 1 folder of the host");
  EXPECT_EQ(check.isolation().of(isolation_kind::host_death), "none");
}

// A function that weakens one field of a correct daemon's response. The check must detect the change.
using change = std::function<void(json::object& answer, json::object& host, json::object& config)>;

TEST(ContainerCheck, whatever_is_missing_or_weaker_is_seen) {
  const std::vector<std::pair<const char*, change>> changes{
      {"CapDrop gone", [](auto&, auto& host, auto&) { host.erase("CapDrop"); }},
      {"CapDrop partial", [](auto&, auto& host, auto&) { host["CapDrop"] = json::parse(R"(["KILL"])"); }},
      {"CapAdd", [](auto&, auto& host, auto&) { host["CapAdd"] = json::parse(R"(["CAP_SYS_ADMIN"])"); }},
      {"Privileged", [](auto&, auto& host, auto&) { host["Privileged"] = true; }},
      {"SecurityOpt gone", [](auto&, auto& host, auto&) { host["SecurityOpt"] = nullptr; }},
      {"no-new-privileges=false",
       [](auto&, auto& host, auto&) { host["SecurityOpt"] = json::parse(R"(["no-new-privileges=false"])"); }},
      {"seccomp off",
       [](auto&, auto& host, auto&) {
         host["SecurityOpt"] = json::parse(R"(["no-new-privileges","seccomp=unconfined"])");
       }},
      {"User", [](auto&, auto&, auto& config) { config["User"] = ""; }},
      {"Memory", [](auto&, auto& host, auto&) { host["Memory"] = 0; }},
      {"MemorySwap", [](auto&, auto& host, auto&) { host["MemorySwap"] = std::int64_t{1} << 40; }},
      {"PidsLimit", [](auto&, auto& host, auto&) { host["PidsLimit"] = nullptr; }},
      {"ShmSize", [](auto&, auto& host, auto&) { host["ShmSize"] = 0; }},
      {"Dns", [](auto&, auto& host, auto&) { host["Dns"] = json::parse(R"(["8.8.8.8"])"); }},
      {"ExtraHosts", [](auto&, auto& host, auto&) { host["ExtraHosts"] = json::parse(R"(["db:10.0.0.7"])"); }},
      {"DeviceRequests",
       [](auto&, auto& host, auto&) {
         host["DeviceRequests"] = json::parse(R"([{"Driver":"","Count":-1,"Capabilities":[["gpu"]]}])");
       }},
      {"NanoCpus", [](auto&, auto& host, auto&) { host.erase("NanoCpus"); }},
      {"Ulimits", [](auto&, auto& host, auto&) { host["Ulimits"] = json::array(); }},
      {"NetworkMode", [](auto&, auto& host, auto&) { host["NetworkMode"] = "default"; }},
      {"NetworkMode host", [](auto&, auto& host, auto&) { host["NetworkMode"] = "host"; }},
      {"PidMode", [](auto&, auto& host, auto&) { host["PidMode"] = "host"; }},
      {"IpcMode", [](auto&, auto& host, auto&) { host["IpcMode"] = "container:12"; }},
      {"UTSMode", [](auto&, auto& host, auto&) { host["UTSMode"] = "host"; }},
      {"UsernsMode", [](auto&, auto& host, auto&) { host["UsernsMode"] = "host"; }},
      {"ReadonlyRootfs", [](auto&, auto& host, auto&) { host["ReadonlyRootfs"] = false; }},
      {"Devices", [](auto&, auto& host, auto&) { host["Devices"] = json::parse(R"([{"PathOnHost":"/dev/sda"}])"); }},
      {"VolumesFrom", [](auto&, auto& host, auto&) { host["VolumesFrom"] = json::parse(R"(["x"])"); }},
      {"Tmpfs", [](auto&, auto& host, auto&) { host["Tmpfs"] = nullptr; }},
      {"LogConfig", [](auto&, auto& host, auto&) { host["LogConfig"] = json::parse(R"({"Type":"json-file"})"); }},
      {"AutoRemove", [](auto&, auto& host, auto&) { host["AutoRemove"] = false; }},
      {"Runtime", [](auto&, auto& host, auto&) { host["Runtime"] = "runc"; }},
      {"Entrypoint", [](auto&, auto&, auto& config) { config["Entrypoint"] = json::parse(R"(["/bin/sh"])"); }},
      {"Labels", [](auto&, auto&, auto& config) { config["Labels"].as_object().erase("cofferdam.owner"); }},
      {"Tty", [](auto&, auto&, auto& config) { config["Tty"] = true; }},
      {"Mounts gone", [](auto& answer, auto&, auto&) { answer.erase("Mounts"); }},
      {"Mounts writable", [](auto& answer, auto&, auto&) { answer["Mounts"].as_array()[0].as_object()["RW"] = true; }},
      {"Mounts other",
       [](auto& answer, auto&, auto&) { answer["Mounts"].as_array()[0].as_object()["Source"] = "/etc"; }},
      {"Mounts more",
       [](auto& answer, auto&, auto&) {
         answer["Mounts"].as_array().push_back(
             json::parse(R"({"Type":"bind","Source":"/","Destination":"/host","RW":true})"));
       }},
      {"HostConfig gone", [](auto& answer, auto&, auto&) { answer.erase("HostConfig"); }},
      {"Config gone", [](auto& answer, auto&, auto&) { answer.erase("Config"); }},
      {"nothing at all", [](auto& answer, auto&, auto&) { answer.clear(); }},
  };
  for (const auto& [name, apply] : changes) {
    json::object answer = inspected_as_asked(asked());
    apply(answer, answer["HostConfig"].as_object(), answer["Config"].as_object());
    const container_check check = check_container(asked(), answer);
    EXPECT_FALSE(check.missing().empty()) << name;
    EXPECT_NE(sentence_of([&] { check.require(); }).find(check.missing().front()), std::string::npos) << name;
  }
}

TEST(ContainerCheck, a_wall_that_is_missing_is_not_reported_as_up) {
  json::object answer = inspected_as_asked(asked());
  answer["HostConfig"].as_object()["Memory"] = 0;
  answer["HostConfig"].as_object()["NetworkMode"] = "bridge";
  answer["HostConfig"].as_object()["CapDrop"] = nullptr;
  const container_check check = check_container(asked(), answer);
  EXPECT_EQ(check.isolation().of(isolation_kind::memory), "none");
  EXPECT_EQ(check.isolation().of(isolation_kind::network), "none");
  EXPECT_EQ(check.isolation().of(isolation_kind::system_calls), "none");
  EXPECT_EQ(check.isolation().of(isolation_kind::process_count), "limit of 256");
}

TEST(ContainerCheck, a_machine_that_cannot_limit_swap_says_so) {
  for (const json::value& swap : {json::value(-1), json::value(0), json::value(nullptr)}) {
    json::object answer = inspected_as_asked(asked());
    answer["HostConfig"].as_object()["MemorySwap"] = swap;
    const container_check check = check_container(asked(), answer);
    EXPECT_TRUE(check.missing().empty());
    EXPECT_EQ(check.isolation().of(isolation_kind::memory), "limit of 1073741824 bytes, but swap is not limited");
  }
}

TEST(ContainerCheck, a_mount_of_any_type_that_nobody_asked_for_is_a_missing_wall) {
  for (const char* const type : {"volume", "bind", "tmpfs", "npipe", "cluster", ""}) {
    json::object answer = inspected_as_asked(asked());
    json::object more = json::parse(R"({"Name":"12","Destination":"/data","RW":true})").as_object();
    more["Type"] = type;
    answer["Mounts"].as_array().push_back(more);
    const container_check check = check_container(asked(), answer);
    ASSERT_EQ(check.missing().size(), 1U) << type;
    EXPECT_NE(check.missing().front().find("/data"), std::string::npos) << check.missing().front();
    EXPECT_EQ(check.isolation().of(isolation_kind::files), "none") << type;
  }
  // Podman lists the requested memory file system among the mounts too.
  json::object answer = inspected_as_asked(asked());
  answer["Mounts"].as_array().push_back(json::parse(R"({"Type":"tmpfs","Destination":"/workspace","RW":true})"));
  EXPECT_TRUE(check_container(asked(), answer).missing().empty());
}

TEST(ContainerCheck, the_report_names_memory_and_disk_that_commands_can_write_to) {
  container_options options = container_options().tmpfs("/scratch").volume("/disk");
  create_request container_request("sha256:12", "cofferdam-1", {"/.cofferdam/warden"}, options);
  container_request.add(image_volume("/data", 8192, 0750, 7, 8, false))
      .add(image_volume("/full", 4096, 0755, 0, 0, true));
  const json::object body = container_request.body(fake_host().view());
  const json::object& host = body.at("HostConfig").as_object();
  EXPECT_EQ(host.at("Tmpfs").at("/data"), "rw,nosuid,nodev,exec,size=8192,mode=0750,uid=7,gid=8");
  EXPECT_EQ(host.at("Tmpfs").at("/scratch"), "rw,nosuid,nodev,exec,size=134217728,mode=0755,uid=1000,gid=1000");
  EXPECT_EQ(host.at("Mounts"), json::parse(R"([
      {"Type":"volume","Target":"/disk","ReadOnly":false,"VolumeOptions":{"NoCopy":false}},
      {"Type":"volume","Target":"/full","ReadOnly":false,"VolumeOptions":{"NoCopy":true,"DriverConfig":{"Name":"local",
        "Options":{"type":"tmpfs","device":"tmpfs","o":"nosuid,nodev,size=4096,mode=0755,uid=0,gid=0"}}}}])"));
  const container_check check = check_container(body, inspected_as_asked(body));
  EXPECT_TRUE(check.missing().empty()) << check.missing().front();
  const std::string words(check.isolation().of(isolation_kind::files));
  for (const char* const part :
       {"8192 bytes of memory at /data", "4096 bytes of memory at /full", "134217728 bytes of memory at /scratch",
        "unlimited space on the daemon's disk at /disk"})
    EXPECT_NE(words.find(part), std::string::npos) << words;
  // Podman copies the image's content into a memory file system without a special volume.
  container_request.unowned_memory();
  const json::object podmans = container_request.body(fake_host().view()).at("HostConfig").as_object();
  EXPECT_EQ(podmans.at("Tmpfs").at("/full"), "rw,nosuid,nodev,exec,size=4096,mode=1777");
  EXPECT_EQ(podmans.at("Mounts").as_array().size(), 1U);
}

TEST(ContainerCheck, what_docker_20_10_answered_is_understood) {
  container_options options = container_options();
  options.add(mount::bind("/srv/data", "/in").read_only()).add(mount::volume("vol", "/out"));
  create_request container_request("bbf:1", "cofferdam-t1", {"/bin/sh", "-c", "cat"}, options);
  container_request.reaps().commands(command_user::set_by_first);
  json::value answer = json::parse(R"({
    "HostConfig":{"LogConfig":{"Type":"none","Config":{}},"NetworkMode":"none","AutoRemove":true,"VolumesFrom":null,
      "CapAdd":["KILL","SETGID","SETUID"],"CapDrop":["ALL"],"CgroupnsMode":"host","IpcMode":"private","PidMode":"",
      "Privileged":false,"ReadonlyRootfs":true,"SecurityOpt":["no-new-privileges"],
      "Tmpfs":{"/tmp":"rw,nosuid,nodev,exec,size=268435456,mode=1777",
               "/workspace":"rw,nosuid,nodev,exec,size=268435456,mode=0755,uid=1000,gid=1000"},
      "UTSMode":"","UsernsMode":"","Runtime":"runc","Memory":1073741824,"NanoCpus":2000000000,"Devices":null,
      "DeviceRequests":null,"ShmSize":67108864,"MemorySwap":1073741824,"PidsLimit":256,"Ulimits":[{"Name":"core","Hard":0,"Soft":0}],
      "Binds":null},
    "Config":{"User":"0:0","Tty":false,"Entrypoint":["/bin/sh","-c","cat"],"Cmd":[],
      "Labels":{"cofferdam.deadline":"","cofferdam.host":"","cofferdam.owner":""}},
    "Mounts":[
      {"Type":"bind","Source":"/srv/data","Destination":"/in","Mode":"","RW":false,"Propagation":"rprivate"},
      {"Type":"volume","Name":"vol","Source":"/var/lib/docker/volumes/vol/_data","Destination":"/out","Driver":"local",
       "Mode":"z","RW":true,"Propagation":""}]})");
  const json::object request = container_request.body(fake_host().view());
  answer.as_object()["Config"].as_object()["Labels"].as_object()["cofferdam.version"] = version.data();
  EXPECT_NO_THROW(check_container(request, answer.as_object()).require());
  // Newer daemons return the capabilities with the prefix CAP_.
  json::value newer = answer;
  newer.as_object()["HostConfig"].as_object()["CapAdd"] = json::parse(R"(["CAP_KILL","CAP_SETGID","CAP_SETUID"])");
  EXPECT_NO_THROW(check_container(request, newer.as_object()).require());
}

TEST(ContainerCheck, podmans_list_of_dropped_capabilities_counts_as_all) {
  json::object answer = inspected_as_asked(asked());
  answer["HostConfig"].as_object()["CapDrop"] = json::parse(
      R"(["CAP_CHOWN","CAP_DAC_OVERRIDE","CAP_FOWNER","CAP_FSETID","CAP_KILL","CAP_NET_BIND_SERVICE","CAP_SETFCAP",
          "CAP_SETGID","CAP_SETPCAP","CAP_SETUID","CAP_SYS_CHROOT"])");
  EXPECT_TRUE(check_container(asked(), answer, engine_kind::podman).missing().empty());
  EXPECT_FALSE(check_container(asked(), answer, engine_kind::docker).missing().empty());
  answer["HostConfig"].as_object()["CapDrop"].as_array().pop_back();
  EXPECT_FALSE(check_container(asked(), answer, engine_kind::podman).missing().empty());
}

TEST(ContainerCheck, requested_gpus_and_names_must_be_there_and_no_others) {
  container_options options =
      container_options().network("bridge").gpus("2").dns("1.1.1.1").extra_host("db", "10.0.0.7");
  const create_request container_request("sha256:12", "cofferdam-1", {"/.cofferdam/warden"}, options);
  const json::object wanted = container_request.body(fake_host().view());
  const auto missing_after = [&](auto&& change) {
    json::object answer = inspected_as_asked(wanted);
    change(answer["HostConfig"].as_object());
    const container_check check = check_container(wanted, answer);
    return check.missing().empty() ? std::string() : check.missing().front();
  };
  EXPECT_EQ(missing_after([](json::object&) {}), "");
  // The daemon reports an empty list of devices as null.
  EXPECT_EQ(missing_after([](json::object& host) {
              host["DeviceRequests"].as_array().front().as_object()["DeviceIDs"] = nullptr;
            }),
            "");
  const std::string others = "its GPUs are not the requested ones";
  EXPECT_EQ(missing_after([](json::object& host) { host["DeviceRequests"] = nullptr; }), others);
  EXPECT_EQ(
      missing_after([](json::object& host) { host["DeviceRequests"].as_array().front().as_object()["Count"] = -1; }),
      others);
  EXPECT_EQ(missing_after([](json::object& host) { host["Dns"] = json::array(); }),
            "its name servers are not the requested ones");
  EXPECT_EQ(missing_after([](json::object& host) { host["ExtraHosts"] = nullptr; }),
            "its additional host names are not the requested ones");
}

}  // namespace
