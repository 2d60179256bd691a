// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/asked_page.hpp>
#include <cofferdam/serve/e2b_gateway/detail/multipart_reader.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>
#include <cofferdam/serve/e2b_gateway/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/snapshots.hpp>
#include <cofferdam/serve/e2b_gateway/detail/watch.hpp>

#include "support/error_of.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using namespace cofferdam;
using namespace cofferdam::detail;
using namespace cofferdam::e2b_gateway::detail;
using cofferdam_test::code_of;

// ---- failures ----

TEST(GatewayFailures, one_table_gives_the_status_and_the_code_of_every_failure) {
  struct row {
    exec_errc failure;
    int status;
    connect_code code;
  };
  const std::vector<row> rows{
      {exec_errc::invalid_argument, 400, connect_code::invalid_argument},
      {exec_errc::cancelled, 499, connect_code::canceled},
      {exec_errc::environment_closed, 502, connect_code::unavailable},
      {exec_errc::provider_lost, 502, connect_code::unavailable},
      {exec_errc::provider_failed, 500, connect_code::unavailable},
      {exec_errc::unsupported, 501, connect_code::unimplemented},
      {exec_errc::not_found, 404, connect_code::not_found},
      {exec_errc::not_a_file, 400, connect_code::invalid_argument},
      {exec_errc::not_a_directory, 500, connect_code::invalid_argument},
      {exec_errc::already_exists, 409, connect_code::already_exists},
      {exec_errc::not_empty, 400, connect_code::failed_precondition},
      {exec_errc::outside_workspace, 403, connect_code::permission_denied},
      {exec_errc::permission_denied, 403, connect_code::permission_denied},
      {exec_errc::too_large, 413, connect_code::invalid_argument},
      {exec_errc::collision, 400, connect_code::already_exists},
      {exec_errc::io_error, 500, connect_code::internal},
      {exec_errc::deadlock, 500, connect_code::internal},
      {exec_errc::unavailable, 503, connect_code::unavailable},
      {exec_errc::busy, 503, connect_code::failed_precondition},
  };
  EXPECT_EQ(static_cast<int>(rows.size()), static_cast<int>(exec_errc::busy)) << "a row for each";
  for (const row& each : rows) {
    const error failure(each.failure, "why");
    EXPECT_EQ(http_status_of(failure), each.status) << failure.code();
    EXPECT_EQ(connect_code_of(failure), each.code) << failure.code();
  }
  EXPECT_EQ(http_status_of(error(exec_errc::io_error, "full", std::make_error_code(std::errc::no_space_on_device))),
            507);
  EXPECT_EQ(http_status_of(error(exec_errc::io_error, "folder", std::make_error_code(std::errc::is_a_directory))), 400);
}

// ---- secrets ----

TEST(GatewaySecrets, signatures_are_those_of_the_specification) {
  const std::string token = "eyTestTokenForSpec0123456789abcdef";
  const std::string path = "/home/user/data.txt";
  EXPECT_EQ(url_signature(path, "read", "user", token, "1893456000"), "v1_TlMKaY89zyWjSEEOjAi/9Tc7SlCBEIAYeISvprl0Bjw");
  EXPECT_EQ(url_signature(path, "read", "", token, ""), "v1_2H6i2orWWU+wOr0iwloAyENgHHXrtJqSgQr0FKWPrfc");
  EXPECT_EQ(url_signature(path, "write", "", token, ""), "v1_lHdl0RQ40GeT2dJ4mZVD7y1BayhuDwk5VhtZcC37EuM");
}

TEST(GatewaySecrets, ids_and_tokens_have_their_form_and_never_come_twice) {
  std::set<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    const std::string id = sandbox_id_text();
    EXPECT_EQ(id.size(), 21U);
    EXPECT_EQ(id.front(), 'i');
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
    EXPECT_EQ(random_token().size(), 64U);
    EXPECT_TRUE(ids.insert(id).second);
  }
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "ab"));
}

// ---- routing ----

std::string routed(const std::string& host, const std::string& id = "", const std::string& port = "",
                   const std::string& target = "/x") {
  http_request_head head;
  head.method = "GET";
  head.target = target;
  if (!host.empty()) head.fields.append("Host", host);
  if (!id.empty()) head.fields.append("e2b-sandbox-id", id);
  if (!port.empty()) head.fields.append("E2B-SANDBOX-PORT", port);
  static const request_router router("boxes.test", {"gateway.corp"});
  const request_route route = router.find(head);
  switch (route.where()) {
    case request_route::target::api: return "api";
    case request_route::target::sandbox: return route.id() + ":" + std::to_string(route.port());
    case request_route::target::signed_file: return "signed";
    case request_route::target::wrong_host: return "wrong host";
    case request_route::target::one_header: return "one header";
    case request_route::target::bad_host: return "bad host";
    case request_route::target::bad_id: return "bad id";
    case request_route::target::bad_port: return "bad port";
  }
  return "";
}

TEST(GatewayRouting, headers_decide_where_the_host_names_no_sandbox) {
  for (const char* const host : {"localhost", "127.0.0.1:3000", "[::1]:3000", "sandbox.boxes.test", "gateway.corp:1",
                                 "SANDBOX.Boxes.Test", "10.1.2.3"}) {
    EXPECT_EQ(routed(host, "iabc", "49983"), "iabc:49983") << host;
    EXPECT_EQ(routed(host, "iabc"), "one header") << host;
    EXPECT_EQ(routed(host, "", "49983"), "one header") << host;
  }
  EXPECT_EQ(routed("localhost"), "api");
  EXPECT_EQ(routed("api.boxes.test"), "api");
  EXPECT_EQ(routed("boxes.test"), "api");
  EXPECT_EQ(routed("gateway.corp"), "api");
  EXPECT_EQ(routed("sandbox.boxes.test"), "one header");
}

TEST(GatewayRouting, host_names_decide_otherwise) {
  EXPECT_EQ(routed("49983-iabc.boxes.test"), "iabc:49983");
  EXPECT_EQ(routed("49983-iabc-6532622b.boxes.test:3000"), "iabc:49983");
  EXPECT_EQ(routed("8080-IABC.boxes.test", "iother", "1"), "iabc:8080") << "the host is more than the headers";
  EXPECT_EQ(routed("iabc.boxes.test"), "bad host");
  EXPECT_EQ(routed("x-iabc.boxes.test"), "bad port");
  EXPECT_EQ(routed("0-iabc.boxes.test"), "bad port");
  EXPECT_EQ(routed("65536-iabc.boxes.test"), "bad port");
  EXPECT_EQ(routed("49983-i_bc.boxes.test"), "bad id");
  EXPECT_EQ(routed("49983-.boxes.test"), "bad id");
}

TEST(GatewayRouting, foreign_hosts_are_none_of_ours) {
  for (const char* const host : {"evil.test", "boxes.test.evil.test", "xboxes.test", "localhost.evil.test", "",
                                 "127.0.0.1.evil.test", "1.2.3", "evil.test:49983"}) {
    EXPECT_EQ(routed(host), "wrong host") << host;
    EXPECT_EQ(routed(host, "iabc", "49983"), "wrong host") << host;
  }
}

TEST(GatewayRouting, ids_are_small_letters_and_digits) {
  for (const char* const id : {"../x", "A", "i b", "i-b", "%2e", "i\xC3\xA9"})
    EXPECT_EQ(routed("localhost", id, "1"), "bad id");
  EXPECT_EQ(routed("localhost", std::string(65, 'i'), "1"), "bad id");
  EXPECT_EQ(routed("localhost", "i", "-1"), "bad port");
  EXPECT_EQ(routed("localhost", "i", "1x"), "bad port");
}

TEST(GatewayRouting, a_signed_url_needs_no_header) {
  EXPECT_EQ(routed("127.0.0.1", "", "", "/files?path=x&signature=v1_x"), "signed");
  EXPECT_EQ(routed("127.0.0.1", "", "", "/files?path=x"), "api");
  EXPECT_EQ(routed("127.0.0.1", "", "", "/other?signature=v1_x"), "api");
  EXPECT_EQ(routed("127.0.0.1", "iabc", "49983", "/files?signature=x"), "iabc:49983");
}

TEST(GatewayQuery, is_decoded_once) {
  const query_fields query("path=%2Ftmp%2Fa%20b+c&x&=y&%3d=%26&bad=%zz%4");
  EXPECT_EQ(query.value("path"), "/tmp/a b c");
  EXPECT_TRUE(query.find("x"));
  EXPECT_EQ(query.value("="), "&");
  EXPECT_EQ(query.value("bad"), "%zz%4");
  EXPECT_FALSE(query.find("none"));
}

TEST(GatewayQuery, metadata_are_encoded_three_times) {
  const query_fields query("metadata=a%252520b%3Dc%25252Fd%26e%3Df&state=running,paused&limit=10");
  const string_pairs expected{{"a b", "c/d"}, {"e", "f"}};
  EXPECT_EQ(metadata_filter(query.value("metadata")), expected);
}

TEST(GatewayQuery, both_lists_read_their_page_in_the_same_way) {
  const asked_page first(query_fields("nextToken="));
  EXPECT_EQ(first.limit, 100U);
  EXPECT_FALSE(first.token);
  const asked_page later(query_fields("limit=7&nextToken=12"));
  EXPECT_EQ(later.limit, 7U);
  EXPECT_EQ(later.token, 12U);
  const snapshot_list snapshots;
  for (const char* const text : {"limit=0", "limit=101", "limit=x", "limit=", "nextToken=x", "nextToken=-1"}) {
    const query_fields query(text);
    EXPECT_THROW(list_filter(query, false), http_refusal) << text;
    EXPECT_THROW(snapshots.page(query, {}), http_refusal) << text;
  }
  EXPECT_THROW(snapshots.page(query_fields("nextToken=1"), {}), http_refusal);  // there is no snapshot before the first
}

// ---- paths ----

TEST(GatewayPaths, the_home_is_the_workspace) {
  const guest_paths paths("/home/user", "/tmp/w1/workspace");
  for (const char* const home : {"", "~", "~/", ".", "/home/user", "/home/user/", "/home//user/.", "/tmp/w1/workspace",
                                 "x/..", "/etc/../home/user"})
    EXPECT_EQ(paths.inside(home), ".") << home;
  for (const char* const file : {"a/b", "./a/b", "~/a/b", "/home/user/a/b", "a//b/", "a/c/../b",
                                 "/tmp/w1/workspace/a/b", "/home/user/../user/a/b", "../user/a/b"})
    EXPECT_EQ(paths.inside(file), "a/b") << file;
  EXPECT_EQ(paths.outside("a/b"), "/home/user/a/b");
  EXPECT_EQ(paths.outside("."), "/home/user");
}

TEST(GatewayPaths, a_path_elsewhere_stays_absolute) {
  const guest_paths paths("/home/user", "/tmp/w1/workspace");
  EXPECT_EQ(paths.locate("/"), "/");
  EXPECT_EQ(paths.locate("/etc//./hostname"), "/etc/hostname");
  EXPECT_EQ(paths.locate("../../tmp/x/"), "/tmp/x");
  EXPECT_EQ(paths.locate("/../.."), "/");
  const std::string longer_name = std::string(paths.home()) + "2/a";
  EXPECT_EQ(paths.locate(longer_name), longer_name);
  EXPECT_EQ(paths.locate("~/a"), "a");
  EXPECT_EQ(paths.locate("/tmp/w1/workspace/a"), "a");
  EXPECT_EQ(paths.outside("/etc/hostname"), "/etc/hostname");
  EXPECT_EQ(code_of([&] { paths.locate(std::string_view("/a\0b", 4)); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { paths.locate("/" + std::string(300, 'x')); }), exec_errc::invalid_argument);
  EXPECT_EQ(code_of([&] { paths.locate("~bob/x"); }), exec_errc::invalid_argument);
}

TEST(GatewayPaths, nothing_else_is_reached) {
  for (const char* const workspace : {"/tmp/w1/workspace", ""}) {
    const std::string home = "/home/user";
    const guest_paths paths(home, workspace);
    for (const std::string& path : std::vector<std::string>{
             "/", "/etc/passwd", "..", "../x", "/home", home + "2", home + "-evil/x", home + "name", "/home/user/../x",
             "/home/user/../../etc/passwd", "~/../../etc", "/tmp/w1/workspace2", "/tmp/w1/workspace-evil/x", "/tmp/w1",
             "a/../../b", "/proc/self/root"})
      EXPECT_EQ(code_of([&] { paths.inside(path); }), exec_errc::outside_workspace) << path;
    EXPECT_EQ(code_of([&] { paths.inside("~bob/x"); }), exec_errc::invalid_argument);
    EXPECT_EQ(code_of([&] { paths.inside(std::string_view("a\0b", 3)); }), exec_errc::invalid_argument);
    EXPECT_EQ(code_of([&] { paths.inside(std::string(300, 'x')); }), exec_errc::invalid_argument);
    EXPECT_EQ(code_of([&] { paths.inside(std::string(20000, '/') + "x"); }), exec_errc::outside_workspace);
  }
}

TEST(GatewayPaths, an_entry_is_told_as_by_the_real_one) {
  const guest_paths paths("/home/user", "");
  const boost::json::object file = paths.describe(directory_entry("g.txt", file_type::regular, 14, 0644), "d/g.txt");
  EXPECT_EQ(boost::json::serialize(file),
            R"({"name":"g.txt","type":"FILE_TYPE_FILE","path":"/home/user/d/g.txt","size":"14","mode":420,)"
            R"("permissions":"-rw-r--r--"})");
  const boost::json::object odd = paths.describe(directory_entry("\xff", file_type::directory, 0, 0755), "\xff");
  EXPECT_EQ(boost::json::serialize(odd.at("name")), "\"\xEF\xBF\xBD\"") << "what is not UTF-8 would be no JSON";
  EXPECT_EQ(odd.at("permissions"), "drwxr-xr-x");
}

// ---- watching ----

TEST(GatewayWatch, changes_become_the_events_of_envd) {
  std::string text;
  for (const file_event& event :
       events_of({file_change(change_kind::created, "s", true), file_change(change_kind::written, "s/a", false),
                  file_change(change_kind::renamed, "b", false, "s/a"),
                  file_change(change_kind::attributes, "b", false), file_change(change_kind::removed, "b", false)}))
    text += std::string(event.type()) + " " + event.name() + "; ";
  EXPECT_EQ(text,
            "EVENT_TYPE_CREATE s; EVENT_TYPE_WRITE s/a; EVENT_TYPE_RENAME s/a; EVENT_TYPE_CREATE b; "
            "EVENT_TYPE_CHMOD b; EVENT_TYPE_REMOVE b; ");
}

// ---- multipart/form-data ----

/// Feeds `text` to the reader in pieces of `size` bytes, and returns the parts of the form as text.
std::string parts_of(std::string_view text, std::size_t size) {
  multipart_reader reader("XY");
  std::string parts;
  try {
    for (;;) {
      switch (reader.next()) {
        case multipart_reader::event::more: {
          if (text.empty()) return parts + "cut";
          reader.feed(text.substr(0, size));
          text.remove_prefix(std::min(size, text.size()));
          break;
        }
        case multipart_reader::event::part:
          parts += "[" + reader.name() + "|" + reader.file_name().value_or("-") + "]";
          break;
        case multipart_reader::event::content: parts += reader.content(); break;
        case multipart_reader::event::part_end: parts += "$"; break;
        case multipart_reader::event::end: return parts + "end";
      }
    }
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), exec_errc::io_error);
    return parts + "malformed";
  }
}

const std::string form =
    "--XY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".txt\"\r\n"
    "Content-Type: text/plain\r\n\r\none\r\n--X\r\n\r\n--XZtwo\r\n--XY  \r\n"
    "content-disposition: form-data; name=other\r\n\r\n\r\n--XY\r\n\r\nbare\r\n--XY--\r\nepilogue";
const std::string form_says = "[file|a \"b\".txt]one\r\n--X\r\n\r\n--XZtwo$[other|-]$[|-]bare$end";

TEST(GatewayMultipart, every_piecing_is_the_same_form) {
  for (std::size_t size = 1; size <= form.size(); ++size) EXPECT_EQ(parts_of(form, size), form_says) << size;
  EXPECT_EQ(parts_of("preamble\r\n" + form, 7), form_says);
}

TEST(GatewayMultipart, every_cut_is_noticed) {
  const std::size_t end = form.find("--XY--") + 6;
  for (std::size_t cut = 0; cut < end; ++cut) {
    const std::string parts = parts_of(form.substr(0, cut), 5);
    EXPECT_TRUE(parts.ends_with("cut")) << cut << " " << parts;
    EXPECT_TRUE(form_says.starts_with(parts.substr(0, parts.size() - 3))) << parts;
  }
}

TEST(GatewayMultipart, what_is_none_is_malformed_and_not_kept) {
  EXPECT_EQ(parts_of(std::string(20000, 'x'), 1000), "malformed");
  EXPECT_EQ(parts_of("--XYx\r\n\r\n", 100), "malformed");
  EXPECT_EQ(parts_of("--XY" + std::string(300, ' '), 100), "malformed");
  EXPECT_EQ(parts_of("--XY\r\nno field\r\n\r\n", 100), "malformed");
  EXPECT_EQ(parts_of("--XY\r\nA: " + std::string(20000, 'x'), 1000), "malformed");
  EXPECT_EQ(parts_of("--XY--", 100), "end");
}

TEST(GatewayMultipart, a_boundary_is_read_from_the_type) {
  const auto boundary = [](std::string_view type) { return multipart_reader::boundary_of(type).value_or("none"); };
  EXPECT_EQ(boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(boundary("multipart/form-data; charset=x; Boundary=\"a;b\""), "a;b");
  EXPECT_EQ(boundary("multipart/form-data"), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary="), "none");
  EXPECT_EQ(boundary("multipart/form-data; boundary=" + std::string(71, 'x')), "none");
}

}  // namespace
