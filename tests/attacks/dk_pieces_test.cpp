// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks DK (Docker) of the project's catalogue of attacks, as far as they can be refused before a request is sent
// to a daemon. Each test contains a control: the same attack against a naive implementation, where it must succeed.

#include <cofferdam/backends/docker/detail/api_error.hpp>
#include <cofferdam/backends/docker/detail/container_check.hpp>
#include <cofferdam/backends/docker/detail/create_request.hpp>
#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/image_name.hpp>
#include <cofferdam/backends/docker/detail/multiplexed_stream.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/progress_stream.hpp>

#include "support/census.hpp"
#include "support/error_of.hpp"
#include "support/fake_host.hpp"
#include "support/inspected_container.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cofferdam;
using cofferdam::docker::detail::api_call;
using cofferdam::docker::detail::api_error;
using cofferdam::docker::detail::check_container;
using cofferdam::docker::detail::command_user;
using cofferdam::docker::detail::container_check;
using cofferdam::docker::detail::create_request;
using cofferdam::docker::detail::image_name;
using cofferdam::docker::detail::is_left_over;
using cofferdam::docker::detail::multiplexed_stream;
using cofferdam::docker::detail::owner;
using cofferdam::docker::detail::owner_label;
using cofferdam::docker::detail::parse_daemon_address;
using cofferdam::docker::detail::process_view;
using cofferdam::docker::detail::progress_stream;
using cofferdam::docker::detail::stream_piece;
using namespace cofferdam::docker;
using namespace std::string_literals;
using cofferdam_test::code_of;
using cofferdam_test::fake_host;
using cofferdam_test::inspected_as_asked;
namespace json = boost::json;

const std::string boot = "0b7e5f8e-9c0f-4b9f-8a55-6d5d2a7c1e11";

json::object body_of(container_options options, command_user who = command_user::as_container) {
  create_request container_request("sha256:12", "cofferdam-1", {"/.cofferdam/warden"}, std::move(options));
  container_request.reaps().commands(who).owned_by(owner(boot, 7, 100, 5000), "box");
  return container_request.body(fake_host().view());
}

// Returns true if a daemon would create an isolated container from this request body.
bool is_hardened(const json::object& body) {
  const json::object& host = body.at("HostConfig").as_object();
  const auto is = [&host](const char* key, const json::value& expected) {
    const json::value* const found = host.if_contains(key);
    return found != nullptr && *found == expected;
  };
  return is("CapDrop", json::parse(R"(["ALL"])")) && is("SecurityOpt", json::parse(R"(["no-new-privileges"])")) &&
         is("Privileged", false) && is("NetworkMode", "none") && host.contains("PidsLimit") &&
         host.contains("Memory") && host.contains("NanoCpus") && body.at("User") != "" && !host.contains("PidMode") &&
         !host.contains("Binds") && !host.contains("Devices");
}

// ---- DK-01: the daemon's answer is compared with the request --------------------------------------------------------

// Feature: A18
TEST(Attack, DK_01_a_daemon_that_ignores_what_it_does_not_know_is_found_out_before_the_start) {
  const json::object body = body_of(container_options());
  ASSERT_TRUE(is_hardened(body));
  // Control: this daemon ignores the fields it does not support, and still reports success. A client that does not
  // compare the container with the request would start it.
  json::object lax = inspected_as_asked(body);
  lax["HostConfig"] = json::parse(R"({"NetworkMode":"default","CapDrop":null,"Privileged":false})");
  EXPECT_TRUE(lax.at("HostConfig").at("CapDrop").is_null());
  const container_check check = check_container(body, lax);
  EXPECT_EQ(code_of([&] { check.require(); }), exec_errc::provider_failed);
  for (const isolation_kind wall_kind : {isolation_kind::memory, isolation_kind::process_count, isolation_kind::network,
                                         isolation_kind::files, isolation_kind::system_calls})
    EXPECT_EQ(check.isolation().of(wall_kind), "none") << to_string(wall_kind);
  EXPECT_NO_THROW(check_container(body, inspected_as_asked(body)).require());
}

TEST(Attack, DK_01_each_wall_that_a_daemon_leaves_out_alone_is_found_out_before_the_start) {
  const json::object body = body_of(container_options());
  const std::vector<std::pair<const char*, const char*>> weaker{
      {"CapDrop", "null"},
      {"SecurityOpt", "[]"},
      {"SecurityOpt", R"(["no-new-privileges","seccomp=unconfined"])"},
      {"SecurityOpt", R"(["no-new-privileges","apparmor=unconfined"])"},
      {"SecurityOpt", R"(["no-new-privileges","label=disable"])"},
      {"MemorySwap", "99000000000"},
      {"Ulimits", "[]"},
      {"Ulimits", R"([{"Name":"core","Soft":0,"Hard":-1}])"},
      {"VolumesFrom", R"(["other"])"},
      {"DeviceRequests", R"([{"Count":-1}])"},
      {"Tmpfs", "{}"},
      {"NetworkMode", R"("bridge")"},
      {"NetworkMode", R"("container:other")"},
      {"PidMode", R"("container:other")"},
      {"IpcMode", R"("shareable")"},
      {"ReadonlyRootfs", "false"},
      {"PidsLimit", "0"},
      {"Memory", "0"},
      {"NanoCpus", "0"},
      {"Privileged", "true"},
      {"PidMode", R"("host")"},
      {"IpcMode", R"("host")"},
      {"UTSMode", R"("host")"},
      {"UsernsMode", R"("host")"},
      {"CapAdd", R"(["SYS_ADMIN"])"},
      {"Devices", R"([{"PathOnHost":"/dev/sda"}])"}};
  for (const auto& [wall, value] : weaker) {
    // Control: the unchanged answer is accepted.
    json::object answer = inspected_as_asked(body);
    EXPECT_NO_THROW(check_container(body, answer).require()) << wall;
    answer["HostConfig"].as_object()[wall] = json::parse(value);
    EXPECT_EQ(code_of([&] { check_container(body, answer).require(); }), exec_errc::provider_failed) << wall;
  }
  json::object as_root = inspected_as_asked(body);
  as_root["Config"].as_object()["User"] = "0:0";
  EXPECT_EQ(code_of([&] { check_container(body, as_root).require(); }), exec_errc::provider_failed);
  json::object with_socket = inspected_as_asked(body);
  with_socket["Mounts"].as_array().push_back(
      json::parse(R"({"Type":"bind","Source":"/var/run/docker.sock","Destination":"/var/run/docker.sock","RW":true})"));
  EXPECT_EQ(code_of([&] { check_container(body, with_socket).require(); }), exec_errc::provider_failed);
  // The daemon mounts a read-only folder as writable, mounts another folder, or mounts a volume instead.
  const json::object bound = body_of(container_options().add(mount::bind("/srv/data", "/in").read_only()));
  json::object honest = inspected_as_asked(bound);
  EXPECT_NO_THROW(check_container(bound, honest).require());
  for (const auto& [key, value] :
       {std::pair<const char*, json::value>("RW", true), std::pair<const char*, json::value>("Source", "/run"),
        std::pair<const char*, json::value>("Type", "volume")}) {
    json::object other = honest;
    other["Mounts"].as_array().front().as_object()[key] = value;
    EXPECT_EQ(code_of([&] { check_container(bound, other).require(); }), exec_errc::provider_failed) << key;
  }
}

TEST(Attack, DK_01_no_option_brings_the_daemons_socket_or_the_hosts_kernel_in) {
  const auto naive = [](const std::string& source) { return json::object{{"Binds", {source + ":/in"}}}; };
  for (const char* const source : {"/",
                                   "//",
                                   "/.",
                                   "/var",
                                   "/var/run",
                                   "/run",
                                   "/run/",
                                   "/var/run/docker.sock",
                                   "/run//docker.sock",
                                   "/var/run/./docker.sock",
                                   "/run/podman",
                                   "/run/podman/podman.sock",
                                   "/run/containerd",
                                   "/run/user/1000",
                                   "/run/user/1000/docker.sock",
                                   "/home/user/x/docker.sock",
                                   "/proc",
                                   "/proc/1/root",
                                   "/sys",
                                   "/sys/fs/cgroup",
                                   "/dev",
                                   "/dev/sda",
                                   "/var/lib/docker",
                                   "/var/lib",
                                   "/srv/../run",
                                   "/var/run/user/1000",
                                   "/var/run/user",
                                   "/private/var/run",
                                   "/run/crio",
                                   "/run/crio/crio.sock",
                                   "/var/run/crio",
                                   "/run/k3s",
                                   "/run/k3s/containerd",
                                   "/run/systemd",
                                   "/run/systemd/private",
                                   "/var/run/systemd",
                                   "/run/dbus",
                                   "/run/dbus/system_bus_socket",
                                   "/run/snapd.socket",
                                   "/run/libvirt",
                                   "/run/buildkit",
                                   "/run/docker",
                                   "/home/u/.docker/run",
                                   "/home/u/.docker",
                                   "/home/u//.docker/./run/",
                                   "/home/u/.local/share/docker",
                                   "/home/u/.local",
                                   "/root/.colima/default",
                                   "/Users/u/.orbstack/run/docker.sock",
                                   "/home",
                                   "/var/lib/containerd",
                                   "/var/lib/containerd/io.containerd.grpc.v1.cri",
                                   "/var/lib/containers",
                                   "/var/lib/kubelet",
                                   "/var/lib/kubelet/pods",
                                   "/var/lib/rancher/k3s",
                                   "/var/snap/docker",
                                   "/etc/kubernetes",
                                   "/run/guest-services",
                                   "/run/host-services/docker.proxy.sock",
                                   "/run/balena-engine.sock",
                                   "/var/run/secrets/kubernetes.io/serviceaccount",
                                   "/run/credentials",
                                   "/mnt/wsl/docker-desktop/shared-sockets",
                                   "/mnt",
                                   "/srv/docker.sock.raw",
                                   "/opt/x/podman.sock"}) {
    // Control: a naive client sends each of these paths to the daemon.
    EXPECT_TRUE(naive(source).contains("Binds"));
    EXPECT_EQ(code_of([&] { mount::bind(source, "/in"); }), exec_errc::invalid_argument) << source;
    EXPECT_EQ(code_of([&] { static_cast<void>(mount::bind(source, "/in").read_only()); }), exec_errc::invalid_argument)
        << source;
  }
  for (const char* const source :
       {"/srv/data", "/home/u", "/home/u/project", "/home/u/.dockerish", "/var/lib/mine", "/run/mine", "/var/runner",
        "/running", "/tmp/docker.sock.d", "/home/u/.rdata", "/mnt/data", "/mnt/wsl/shared", "/run/secretsx"})
    EXPECT_NO_THROW(mount::bind(source, "/in")) << source;
  // A mount that contains the daemon's own socket is refused, wherever that socket lies.
  create_request container_request("x", "nn", {"/x"}, container_options().add(mount::bind("/srv/data", "/in")));
  EXPECT_NO_THROW(container_request.body(fake_host().view()));
  container_request.daemon_socket("/srv/data/private.sock");
  EXPECT_EQ(code_of([&] { container_request.body(fake_host().view()); }), exec_errc::invalid_argument);
}

TEST(Attack, DK_01_a_link_of_this_machine_does_not_bring_a_socket_in) {
  fake_host host;
  host.link("/srv/link", "/run").link("/srv/home", "/h").link("/srv/daemon", "/opt/daemon");
  host.socket("/h/.docker/run").socket("/h/.rd");
  for (const char* const source : {"/srv/link", "/srv/link/crio", "/srv/home", "/h", "/srv/daemon"}) {
    create_request request("x", "nn", {"/x"}, container_options().add(mount::bind(source, "/in")));
    request.daemon_socket("/opt/daemon/d.sock");
    // Control: for a daemon on another machine, the links of this machine do not exist, so `source` is accepted.
    EXPECT_NO_THROW(request.body(host.view())) << source;
    request.local_daemon();
    EXPECT_EQ(code_of([&] { request.body(host.view()); }), exec_errc::invalid_argument) << source;
  }
  // The mount names the folder of the daemon's socket by another path: /run is the same folder as /var/run.
  create_request request("x", "nn", {"/x"}, container_options().add(mount::bind("/run/mine", "/in")));
  request.daemon_socket("/var/run/mine/d.sock");
  EXPECT_EQ(code_of([&] { request.body(host.view()); }), exec_errc::invalid_argument);
  create_request fine("x", "nn", {"/x"}, container_options().add(mount::bind("/srv/data", "/in")));
  fine.daemon_socket("/opt/daemon/d.sock").local_daemon();
  EXPECT_NO_THROW(fine.body(host.view()));
}

TEST(Attack, DK_01_neither_another_namespace_nor_a_root_image_opens_the_wall) {
  for (const char* const name : {"host", "container:other", "ns:/proc/1/ns/net"})
    EXPECT_EQ(code_of([&] { container_options().network(name); }), exec_errc::invalid_argument) << name;
  create_request container_request("x", "nn", {"/x"}, container_options());
  container_request.image_user("root");
  EXPECT_EQ(container_request.body(fake_host().view()).at("User"), "1000:1000");
  const json::object as_root = body_of(container_options().user("0"), command_user::set_by_first);
  EXPECT_TRUE(is_hardened(as_root));
  EXPECT_EQ(as_root.at("HostConfig").at("CapAdd"), json::parse(R"(["KILL","SETGID","SETUID"])"));
}

// ---- DK-02: text cannot change the structure of a request -----------------------------------------------------------

TEST(Attack, DK_02_text_cannot_become_a_field_of_the_request) {
  const std::string value = "x\",\"Privileged\":true,\"y\":\"\n; --privileged $(id) \\";
  // Control: a body that is concatenated from strings gets a second "Privileged" field.
  const std::string glued = "{\"Privileged\":false,\"Env\":\"A=x\",\"Privileged\":true,\"y\":\"\"}";
  EXPECT_EQ(json::parse(glued).at("Privileged"), true);
  container_options options;
  options.variable("A", value).label("l", value).add(mount::bind("/srv/" + value, "/in" + value));
  create_request container_request("x", "nn", {"/x", value}, options);
  const json::object body = container_request.body(fake_host().view());
  EXPECT_TRUE(is_hardened(body));
  const json::value again = json::parse(json::serialize(body));
  EXPECT_EQ(again, json::value(body));
  EXPECT_FALSE(again.as_object().contains("Privileged"));
  EXPECT_EQ(again.at("HostConfig").at("Privileged"), false);
  EXPECT_EQ(again.at("Env").at(0), json::value("A=" + value));
  EXPECT_EQ(again.at("Labels").at("l"), json::value(value));
}

TEST(Attack, DK_02_what_looks_like_an_option_a_command_or_a_query_is_no_name) {
  const auto naive_line = [](const std::string& image) { return "docker run " + image; };
  // Control: the image name becomes an option of the command line.
  EXPECT_EQ(naive_line("--privileged x"), "docker run --privileged x");
  for (const std::string& text : {"--privileged"s, "-v/:/h"s, "x;id"s, "x\nid"s, "x id"s, "$(id)"s, "`id`"s, "x&y=1"s,
                                  "x?y"s, "x#y"s, "../x"s, "x%00"s, "x\0y"s, "\xff"s}) {
    EXPECT_EQ(code_of([&] { image_name{text}; }), exec_errc::invalid_argument) << text;
    EXPECT_EQ(code_of([&] { create_request("x", text, {"/x"}, container_options()); }), exec_errc::invalid_argument)
        << text;
    EXPECT_EQ(code_of([&] { container_options().user(text); }), exec_errc::invalid_argument) << text;
    EXPECT_EQ(code_of([&] { container_options().network(text); }), exec_errc::invalid_argument) << text;
    EXPECT_EQ(code_of([&] { container_options().runtime(text); }), exec_errc::invalid_argument) << text;
    EXPECT_EQ(code_of([&] { container_options().platform(text); }), exec_errc::invalid_argument) << text;
    EXPECT_EQ(code_of([&] { mount::volume(text, "/x"); }), exec_errc::invalid_argument) << text;
  }
}

TEST(Attack, DK_02_an_address_cannot_make_ssh_run_a_command_here) {
  const auto naive_words = [](const std::string& host) { return std::vector<std::string>{"ssh", host, "docker"}; };
  // Control: ssh would take the host name for an option.
  EXPECT_EQ(naive_words("-oProxyCommand=id")[1].front(), '-');
  for (const std::string_view text :
       {"ssh://-oProxyCommand=id", "ssh://-oProxyCommand=id/", "ssh://-x@box", "ssh://a@-box", "ssh://box;id",
        "ssh://$(id)", "ssh://box'x", "ssh://a b@box", "ssh://[-o:a:b]"})
    EXPECT_EQ(code_of([&] { parse_daemon_address(text); }), exec_errc::invalid_argument) << text;
}

// ---- DK-03: truncated streams and errors of the daemon --------------------------------------------------------------

TEST(Attack, DK_03_a_stream_that_is_cut_never_looks_whole) {
  const std::string frames = "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\2er"s;
  for (std::size_t cut = 0; cut <= frames.size(); ++cut) {
    multiplexed_stream stream;
    std::string_view piece = std::string_view(frames).substr(0, cut);
    // Control: a client that only collects bytes cannot distinguish a truncated stream from a complete one.
    std::string naive;
    while (const std::optional<stream_piece> content_piece = stream.next(piece)) naive += content_piece->content();
    const bool whole = cut == 0 || cut == 13 || cut == frames.size();
    EXPECT_EQ(stream.may_end(), whole) << cut;
    if (!whole) {
      EXPECT_EQ(code_of([&] { stream.finish(); }), exec_errc::provider_lost) << cut;
    }
  }
}

TEST(Attack, DK_03_an_error_under_status_200_is_an_error) {
  const std::string answer =
      "{\"status\":\"Pulling\"}\r\n{\"errorDetail\":{\"message\":\"EOF\"},\"error\":\"EOF\"}\r\n";
  // Control: the status of the response is 200, so a client that only checks the status reports success.
  const bool naive_success = true;
  progress_stream stream;
  stream.feed(answer);
  stream.finish();
  bool failed = false;
  while (const std::optional<progress_event> event = stream.next())
    failed = failed || event->what() == progress_event::kind::failure;
  EXPECT_NE(failed, !naive_success);
  EXPECT_TRUE(failed);
}

TEST(Attack, DK_03_a_daemon_that_never_ends_a_message_does_not_fill_memory) {
  progress_stream stream(64 * 1024);
  stream.feed("{\"stream\":\"");
  const std::string piece(4096, 'x');
  std::size_t fed = 0;
  EXPECT_EQ(code_of([&] {
              for (; fed < (std::size_t{64} << 20); fed += piece.size()) stream.feed(piece);
            }),
            exec_errc::provider_failed);
  EXPECT_LE(fed, 64U * 1024);
}

TEST(Attack, DK_03_an_error_of_the_daemon_gives_away_no_password_and_forges_no_line) {
  const api_call call("pull the image", "x", "unix:///x.sock");
  const std::string body = R"({"message":"Get https://ann:s3cret@box/v2/: EOF\n\u001b[2Jdocker: all is well"})";
  // Control: the response body contains the password.
  EXPECT_NE(body.find("s3cret"), std::string::npos);
  const std::string what = api_error(500, body, call).what();
  EXPECT_EQ(what.find("s3cret"), std::string::npos) << what;
  EXPECT_EQ(what.find('\n'), std::string::npos);
  EXPECT_EQ(what.find('\x1b'), std::string::npos);
}

// ---- DK-04: the clean-up removes only abandoned containers of this host ---------------------------------------------

struct found_container {
  std::string name;
  std::string label;
};

TEST(Attack, DK_04_the_sweep_takes_what_a_dead_owner_of_this_host_left_and_nothing_else) {
  const owner here(boot, 7, 100, 5000);
  const owner dead(boot, 7, 200, 6000);
  const owner alive(boot, 7, 300, 7000);
  const owner reused(boot, 7, 400, 8000);
  const owner hidden(boot, 7, 500, 9000);
  const auto look = [](std::int64_t pid) {
    if (pid == 300) return process_view::running(7000);
    if (pid == 400) return process_view::running(8001);
    return pid == 500 ? process_view::unknown() : process_view::gone();
  };
  const std::vector<found_container> left{{"cofferdam-a", owner_label(dead, "cofferdam-a").text()},
                                          {"renamed by us", owner_label(reused, "renamed by us").text()}};
  const std::vector<found_container> strangers{
      {"cofferdam-b", ""},          // a foreign container whose name looks like the library's
      {"cofferdam-c", "anything"},  // a foreign container whose label looks like the library's, too
      // The image of this container was committed from one of the library's containers, so the container has the
      // library's label.
      {"web", owner_label(dead, "cofferdam-a").text()},
      {"cofferdam-d", owner_label(alive, "cofferdam-d").text()},   // its owner is alive
      {"cofferdam-e", owner_label(hidden, "cofferdam-e").text()},  // the state of its owner is unknown
      {"cofferdam-f", owner_label(here, "cofferdam-f").text()},    // its owner is this process
      // The owner of this container is in another pid namespace.
      {"cofferdam-g", owner_label(owner(boot, 8, 200, 6000), "cofferdam-g").text()},
      // The owner of this container is on another machine.
      {"cofferdam-h", owner_label(owner("1" + boot.substr(1), 7, 200, 6000), "cofferdam-h").text()}};
  // Control: a clean-up that selects by name, or by the presence of the label, would remove foreign containers.
  std::size_t by_prefix = 0;
  std::size_t by_label = 0;
  for (const found_container& container : strangers) {
    by_prefix += container.name.starts_with("cofferdam-") ? 1 : 0;
    by_label += container.label.empty() ? 0 : 1;
    EXPECT_FALSE(is_left_over(container.label, container.name, here, look)) << container.name;
  }
  EXPECT_GT(by_prefix, 0U);
  EXPECT_GT(by_label, 0U);
  for (const found_container& container : left)
    EXPECT_TRUE(is_left_over(container.label, container.name, here, look)) << container.name;
}

TEST(Attack, DK_04_no_option_forges_whose_a_container_is) {
  for (const char* const key :
       {"cofferdam.owner", "cofferdam.deadline", "cofferdam.x", "Cofferdam.Owner", "COFFERDAM.OWNER"})
    EXPECT_EQ(code_of([&] { container_options().label(key, "x"); }), exec_errc::invalid_argument) << key;
  EXPECT_NO_THROW(container_options().label("cofferdam", "x").label("my.cofferdam.owner", "x"));
  // An image may define a label of the same name. The request always sets the label, even if the container has no
  // owner.
  const json::object image_labels{{"cofferdam.owner", owner_label(owner(boot, 7, 200, 6000), "nn").text()}};
  json::object inherited = image_labels;
  // Control: without the label in the request, the container would inherit the label of the image.
  EXPECT_NE(inherited["cofferdam.owner"], "");
  const json::object body = create_request("x", "nn", {"/x"}, container_options()).body(fake_host().view());
  for (const auto& [key, value] : body.at("Labels").as_object()) inherited[key] = value;
  EXPECT_EQ(inherited["cofferdam.owner"], "");
  EXPECT_EQ(inherited["cofferdam.deadline"], "");
}

// ---- DK-06: images with a digest ------------------------------------------------------------------------------------

TEST(Attack, DK_06_a_tag_beside_a_digest_does_not_decide_what_is_pulled) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const image_name pinned("box:5000/app:1@" + digest);
  const auto naive_tag = [](const std::string& text) { return text.substr(text.rfind('p') + 2, 1); };
  // Control: a naive client pulls by tag, and a tag can be moved to another image at any time.
  EXPECT_EQ(naive_tag("box:5000/app:1"), "1");
  EXPECT_EQ(pinned.pull_from(), "box:5000/app@" + digest);
  EXPECT_EQ(pinned.pull_tag(), "");
  EXPECT_EQ(code_of([] { image_name{"app@sha256:aa"}; }), exec_errc::invalid_argument);
}

// ---- OU-09: the multiplexed stream of the daemon --------------------------------------------------------------------

/// Returns the bytes that the parser produces when the stream is fed in pieces of `piece` bytes. Each byte follows
/// the number of its channel. At the end "!cut" stands for a truncated stream, and "!unknown" for an invalid frame.
std::string demultiplexed(std::string_view stream, std::size_t piece) {
  multiplexed_stream frames;
  std::string result;
  try {
    while (!stream.empty()) {
      std::string_view some = stream.substr(0, piece);
      stream.remove_prefix(some.size());
      while (const std::optional<stream_piece> frame_part = frames.next(some))
        for (const char each : frame_part->content())
          result += std::to_string(static_cast<int>(frame_part->channel())) + each;
    }
    frames.finish();
  } catch (const error& failure) {
    result += failure.code() == exec_errc::provider_failed ? "!unknown" : "!cut";
  }
  return result;
}

TEST(Attack, OU_09_a_docker_stream_is_the_same_wherever_it_is_cut_and_what_is_none_is_a_typed_error) {
  const std::string good = "\1\0\0\0\0\0\0\2ab\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\1c"s;
  for (std::size_t piece = 1; piece <= good.size(); ++piece) EXPECT_EQ(demultiplexed(good, piece), "1a1b2c") << piece;
  for (std::size_t size = 0; size < good.size(); ++size) {
    const bool may_end = size == 0 || size == 10 || size == 18;
    EXPECT_EQ(demultiplexed(good.substr(0, size), 1).ends_with("!cut"), !may_end) << size;
  }
  for (const std::string& head :
       {"\4\0\0\0\0\0\0\1x"s, "\1\1\0\0\0\0\0\1x"s, "HTTP/1.1"s, "\xff\xff\xff\xff\xff\xff\xff\xffx"s})
    for (std::size_t piece = 1; piece <= head.size(); ++piece) EXPECT_EQ(demultiplexed(head, piece), "!unknown");
}

TEST(Attack, OU_09_a_docker_frame_of_four_gibibytes_is_passed_on_and_never_held) {
  const std::string head = "\1\0\0\0\xff\xff\xff\xff"s;
  // Control: a client that reserves the announced size allocates 4 GiB before any content has arrived.
  std::uint32_t announced = 0;
  for (const char each : head.substr(4)) announced = announced << 8U | static_cast<unsigned char>(each);
  EXPECT_EQ(announced, 4'294'967'295U);
  const std::string some(1024 * 1024, 'x');
  const std::size_t before = cofferdam_test::resident_memory();
  multiplexed_stream frames;
  std::string_view input = head;
  EXPECT_FALSE(frames.next(input));
  std::uint64_t passed = 0;
  for (int i = 0; i < 4095; ++i) {
    input = some;
    while (const std::optional<stream_piece> frame_part = frames.next(input)) passed += frame_part->content().size();
  }
  EXPECT_EQ(passed, std::uint64_t{4095} * 1024 * 1024);
  EXPECT_LT(cofferdam_test::resident_memory(), before + 4 * 1024 * 1024);
  EXPECT_EQ(code_of([&] { frames.finish(); }), exec_errc::provider_lost);
}

}  // namespace
