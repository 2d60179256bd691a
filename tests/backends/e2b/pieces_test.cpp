// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/envd_version.hpp>
#include <cofferdam/backends/e2b/process_event.hpp>
#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/detail/backends/e2b/endpoint.hpp>

#include "support/error_of.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

using namespace cofferdam;
using cofferdam::e2b::detail::account;
using cofferdam::e2b::detail::endpoint;
using cofferdam::e2b::detail::envd_abilities;
using cofferdam::e2b::detail::envd_version;
using cofferdam::e2b::detail::refused_error;
using cofferdam::e2b::detail::said_message;
using cofferdam::e2b::detail::sandbox_endpoint;
using namespace cofferdam::e2b;
using namespace std::chrono_literals;
using cofferdam_test::code_of;
using cofferdam_test::error_of;
using cofferdam_test::sentence_of;

surroundings with(surroundings::variable_map variables) { return surroundings(std::move(variables)); }

template <class T>
concept printable = requires(std::ostream& out, const T& value) { out << value; };
static_assert(printable<std::string>);
static_assert(!printable<secret_string>, "a secret must not be printed");
static_assert(!std::is_convertible_v<secret_string, std::string>);

TEST(E2bAccount, without_a_key_the_error_says_where_one_comes_from) {
  const std::string sentence = sentence_of([] { account::resolve(account_options(), surroundings()); });
  EXPECT_NE(sentence.find("E2B_API_KEY"), std::string::npos);
  EXPECT_NE(sentence.find("api_key()"), std::string::npos);
  EXPECT_EQ(code_of([] {
              account::resolve(account_options(), with({{"E2B_API_KEY", ""}}));
            }),
            exec_errc::invalid_argument);
}

TEST(E2bAccount, an_option_wins_over_its_variable_and_that_over_the_default) {
  const account plain = account::resolve(account_options(), with({{"E2B_API_KEY", "k-env"}}));
  EXPECT_EQ(plain.key().reveal(), "k-env");
  EXPECT_EQ(plain.api().text(), "https://api.e2b.app");
  EXPECT_EQ(plain.sandbox(49983, "iabc", "").text(), "https://49983-iabc.e2b.app");
  EXPECT_EQ(plain.sandbox(8080, "iabc", "other.example").text(), "https://8080-iabc.other.example");
  const surroundings host_variables = with({{"E2B_API_KEY", "k-env"}, {"E2B_DOMAIN", "env.example"}});
  EXPECT_EQ(account::resolve(account_options(), host_variables).api().text(), "https://api.env.example");
  account_options options;
  options.api_key = secret_string("k-option");
  options.domain = "option.example";
  const account chosen = account::resolve(options, host_variables);
  EXPECT_EQ(chosen.key().reveal(), "k-option");
  EXPECT_EQ(chosen.api().host(), "api.option.example");
}

TEST(E2bAccount, urls_of_services_that_imitate_it_have_patterns) {
  account_options options;
  options.api_key = secret_string("key");
  options.api_url = "https://example.org/kruise/api/";
  options.sandbox_url = "https://example.org/kruise/{id}/{port}";
  const account who = account::resolve(options, surroundings());
  EXPECT_EQ(who.api().prefix(), "/kruise/api");
  EXPECT_EQ(who.sandbox(49983, "iabc", "").text(), "https://example.org/kruise/iabc/49983");
}

TEST(E2bAccount, ports_have_addresses_only_if_these_name_the_port_and_the_sandbox) {
  account_options options;
  options.api_key = secret_string("key");
  const auto has = [&](const char* url) {
    options.sandbox_url = url;
    return account::resolve(options, surroundings()).has_port_addresses();
  };
  EXPECT_TRUE(has(""));
  EXPECT_TRUE(has("https://{port}-{id}.example.org"));
  EXPECT_FALSE(has("https://example.org"));
  EXPECT_FALSE(has("https://{id}.example.org"));
  EXPECT_FALSE(has("https://example.org/{port}"));
}

TEST(E2bAccount, a_key_is_not_sent_in_the_clear_to_other_machines) {
  account_options options;
  options.api_key = secret_string("key");
  for (const char* url : {"http://localhost:3000", "http://127.0.0.1:1", "http://[::1]:3000"}) {
    options.api_url = url;
    EXPECT_EQ(account::resolve(options, surroundings()).api().text(), url);
  }
  options.api_url = "http://10.0.0.5:3000";
  EXPECT_EQ(code_of([&] { account::resolve(options, surroundings()); }), exec_errc::invalid_argument);
  options.allow_plain_http = true;
  EXPECT_EQ(account::resolve(options, surroundings()).api().port(), 3000);
}

TEST(E2bEndpoint, what_is_no_base_url_is_refused_and_not_shown) {
  for (const std::string url : {"", "e2b.app", "ftp://x", "https://", "https://user:canary@x", "https://x?canary=1",
                                "https://x#f", "https://x:0", "https://x:99999", "https://a b"}) {
    const std::string sentence = sentence_of([&] { endpoint::parse(url, "api_url"); });
    EXPECT_EQ(sentence.find("canary"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("api_url"), std::string::npos) << sentence;
  }
}

TEST(E2bEndpoint, an_id_cannot_lead_to_another_host) {
  for (const std::string id :
       {"", "a.b", "a/b", "a@b", "a b", "a\r\nX: y",
        "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"})
    EXPECT_EQ(code_of([&] { sandbox_endpoint("", 49983, id, "e2b.app"); }), exec_errc::invalid_argument) << id;
}

TEST(E2bSecret, what_a_peer_says_is_cleaned_wherever_it_stands) {
  redactor clean;
  clean.hide(secret_string("canary"));
  clean.hide(secret_string(""));
  clean.hide(secret_string("abc"));
  EXPECT_EQ(clean.clean("a canary, canarycanary abc"), "a [redacted], [redacted][redacted] abc");
  clean.hide(secret_string("canary-and-more"));
  clean.hide(secret_string("more"));
  EXPECT_EQ(clean.clean("canary-and-more canary more"), "[redacted] [redacted] [redacted]");
}

TEST(E2bVersion, versions_are_compared_by_number) {
  EXPECT_EQ(envd_version::parse("0.5.7")->text(), "0.5.7");
  EXPECT_EQ(envd_version::parse("v1.2")->text(), "1.2.0");
  EXPECT_EQ(envd_version::parse("0.6.13-rc1")->text(), "0.6.13");
  EXPECT_LT(*envd_version::parse("0.5.7"), *envd_version::parse("0.5.14"));
  EXPECT_FALSE(envd_version::parse("").has_value());
  EXPECT_FALSE(envd_version::parse("latest").has_value());
  EXPECT_FALSE(envd_version::parse("999999999999.1").has_value());
  EXPECT_TRUE(envd_abilities("0.5.7").takes_raw_uploads());
  EXPECT_FALSE(envd_abilities("0.5.6").takes_raw_uploads());
  EXPECT_FALSE(envd_abilities("").takes_raw_uploads());
  EXPECT_TRUE(envd_abilities("").has_default_user());
  EXPECT_FALSE(envd_abilities("0.3.9").has_default_user());
  EXPECT_FALSE(envd_abilities("0.0.9").is_usable());
}

TEST(E2bSignature, the_examples_of_the_specification_come_out) {
  const secret_string token("eyTestTokenForSpec0123456789abcdef");
  const std::string path = "/home/user/data.txt";
  EXPECT_EQ(file_signature(path, file_access::read, "user", token, 1893456000),
            "v1_TlMKaY89zyWjSEEOjAi/9Tc7SlCBEIAYeISvprl0Bjw");
  EXPECT_EQ(file_signature(path, file_access::read, "", token, std::nullopt),
            "v1_2H6i2orWWU+wOr0iwloAyENgHHXrtJqSgQr0FKWPrfc");
  EXPECT_EQ(file_signature(path, file_access::write, "", token, std::nullopt),
            "v1_lHdl0RQ40GeT2dJ4mZVD7y1BayhuDwk5VhtZcC37EuM");
  const endpoint base = endpoint::parse("https://49983-i1.e2b.app", "x");
  EXPECT_EQ(file_url(base, path, file_access::read, "user", token, 1893456000),
            "https://49983-i1.e2b.app/files?username=user&path=%2Fhome%2Fuser%2Fdata.txt&signature="
            "v1_TlMKaY89zyWjSEEOjAi%2F9Tc7SlCBEIAYeISvprl0Bjw&signature_expiration=1893456000");
  EXPECT_EQ(file_url(base, path, file_access::read, "", secret_string(), std::nullopt),
            "https://49983-i1.e2b.app/files?path=%2Fhome%2Fuser%2Fdata.txt");
}

TEST(E2bEndpoint, a_port_that_is_no_number_is_refused) {
  for (const char* url : {"https://host:x", "http://host:80x"})
    EXPECT_EQ(code_of([&] { endpoint::parse(url, "api_url"); }), exec_errc::invalid_argument) << url;
  EXPECT_EQ(endpoint::parse("https://host:", "api_url").port(), 443);
}

TEST(E2bAccount, proxies_come_from_the_surroundings) {
  const auto way = [](surroundings::variable_map variables) {
    const auto proxy = with(std::move(variables)).proxies().on_the_way_to("api.e2b.app", 443);
    return proxy ? proxy->host() : "none";
  };
  EXPECT_EQ(way({}), "none");
  EXPECT_EQ(way({{"HTTPS_PROXY", "http://large.test:1"}}), "large.test");
  EXPECT_EQ(way({{"HTTPS_PROXY", "http://large.test:1"}, {"https_proxy", "small.test"}}), "small.test");
  EXPECT_EQ(way({{"HTTPS_PROXY", "large.test"}, {"NO_PROXY", "e2b.app"}}), "none");
  EXPECT_EQ(way({{"HTTPS_PROXY", "large.test"}, {"no_proxy", "other.test"}}), "large.test");
  const surroundings wrong = with({{"E2B_API_KEY", "k"}, {"HTTPS_PROXY", "socks5://user:canary@host"}});
  const std::string sentence = sentence_of([&] { account::resolve(account_options(), wrong); });
  EXPECT_NE(sentence.find("HTTPS_PROXY"), std::string::npos) << sentence;
  EXPECT_EQ(sentence.find("canary"), std::string::npos) << sentence;
}

TEST(E2bEvent, output_is_read_alike_in_every_form_that_JSON_has_for_it) {
  for (const char* text :
       {R"({"event":{"data":{"stderr":"Pz8/Pn4="}}})", R"({ "event":{"data":{"stderr":"Pz8/Pn4="}}})",
        R"({"event":{"data":{"stderr":"Pz8\/Pn4="}}})", R"({"event":{"data":{"stderr":"Pz8_Pn4"}}})",
        R"({"event":{"data":{"x":1,"stderr":"Pz8/Pn4="}}})"}) {
    const process_event event = process_event::parse(text);
    EXPECT_EQ(event.what, process_event::kind::err) << text;
    EXPECT_EQ(as_text(event.data), "??\?>~") << text;
  }
  for (const char* text : {R"({"event":{"data":{"stdout":"a"b"}}})", R"({"event":{"data":{"stdout":"abcd}}})",
                           R"({"event":{"data":{"stdout":"abc d"}}})", R"({"event":{"data":{"stdout":""}}}})"})
    EXPECT_EQ(code_of([&] { process_event::parse(text); }), exec_errc::io_error) << text;
  EXPECT_TRUE(process_event::parse(R"({"event":{"data":{"pty":""}}})").data.empty());
}

TEST(E2bEvent, the_daemons_events_are_read) {
  EXPECT_EQ(process_event::parse(R"({"event":{"start":{"pid":31201}}})").pid, 31201);
  const process_event out = process_event::parse(R"({"event":{"data":{"stdout":"aGVsbG8K"}}})");
  EXPECT_EQ(out.what, process_event::kind::out);
  EXPECT_EQ(as_text(out.data), "hello\n");
  EXPECT_EQ(process_event::parse(R"({"event":{"data":{"stderr":"ZXJy"}}})").what, process_event::kind::err);
  EXPECT_EQ(process_event::parse(R"({"event":{"data":{"pty":"eA=="}}})").what, process_event::kind::terminal);
  EXPECT_EQ(as_text(process_event::parse(R"({"event":{"data":{"stdout":"_-8"}}})").data), "\xff\xef");
  for (const char* other : {"{}", R"({"event":{}})", R"({"event":{"keepalive":{}}})", R"({"event":{"new":1}})",
                            R"({"event":5})", R"({"event":{"data":{}}})"})
    EXPECT_EQ(process_event::parse(other).what, process_event::kind::other) << other;
}

TEST(E2bEvent, exits_and_signals_are_told_apart) {
  const auto end = [](const char* text) {
    const process_event event = process_event::parse(std::string(R"({"event":{"end":)") + text + "}}");
    EXPECT_EQ(event.what, process_event::kind::end);
    return event.end;
  };
  EXPECT_EQ(end(R"({"exited":true, "status":"exit status 0"})").exit_code, 0);
  EXPECT_EQ(end(R"({"exitCode":3,"exited":true,"status":"exit status 3"})").exit_code, 3);
  EXPECT_EQ(end(R"({"exit_code":4,"error":null})").exit_code, 4);
  const process_end killed = end(R"({"exitCode":-1,"status":"signal: killed","error":"signal: killed"})");
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(killed.exit_code, -1);
  EXPECT_EQ(end(R"x({"exitCode":-1,"status":"signal: aborted (core dumped)"})x").signal, SIGABRT);
  EXPECT_EQ(end(R"({"exitCode":-1,"status":"signal: signal 34"})").signal, 34);
  EXPECT_EQ(end(R"({"exitCode":-1,"status":"signal: something new"})").signal, -1);
  EXPECT_EQ(end(R"({"exitCode":99999999999999999999})").signal, 0);
}

TEST(E2bEvent, what_is_no_event_is_an_error) {
  for (const char* text :
       {"", "[]", "{", "null", R"({"event":{"data":{"stdout":"!"}}})", R"({"event":{"data":{"stdout":"aaaaa"}}})"})
    EXPECT_EQ(code_of([&] { process_event::parse(text); }), exec_errc::io_error) << text;
}

// Feature: A14, A15
TEST(E2bCreate, both_dialects_have_their_body) {
  create_options options;
  options.lifetime = 90'500ms;
  EXPECT_EQ(boost::json::serialize(options.body(dialect::v1)), R"({"templateID":"base","timeout":91,"secure":true})");
  EXPECT_EQ(boost::json::serialize(options.body(dialect::v2)), R"({"templateID":"base","timeout":91})");
  options.template_id = "t:v1";
  options.metadata["user"] = "abc";
  options.variables["A"] = "1";
  options.allow_internet = false;
  options.auto_pause = true;
  options.network.emplace();
  options.network->allow_out = {"1.1.1.1"};
  options.network->deny_out = {"0.0.0.0/0"};
  options.network->allow_public_traffic = false;
  options.extra["autoResume"] = boost::json::parse(R"({"enabled":true})");
  options.extra["timeout"] = 7;
  const boost::json::value expected =
      boost::json::parse(R"({"templateID":"t:v1","timeout":7,"metadata":{"user":"abc"},"envVars":{"A":"1"},)"
                         R"("allow_internet_access":false,"autoPause":true,"network":{"allowOut":["1.1.1.1"],)"
                         R"("denyOut":["0.0.0.0/0"],"allowPublicTraffic":false},"autoResume":{"enabled":true}})");
  EXPECT_EQ(options.body(dialect::v2), expected.as_object());
  options.variables["B"] = "\xff";
  EXPECT_EQ(code_of([&] { options.body(dialect::v1); }), exec_errc::invalid_argument);
}

TEST(E2bCreate, volumes_resumption_and_rules_of_the_newest_form_are_in_the_body) {
  create_options options;
  options.auto_pause = true;
  options.auto_pause_stores = stored_state::files;
  options.auto_resume = true;
  options.volumes = {{"/mnt/a", "vol1"}};
  network_rules rules;
  rules.allow_out = {"api.example.com"};
  rules.deny_out = {"0.0.0.0/0"};
  rules.mask_request_host = "localhost:${PORT}";
  rules.added_fields["api.example.com"]["Authorization"] = secret_string("Bearer x");
  options.network = rules;
  const boost::json::object body = options.body(dialect::v2);
  EXPECT_EQ(body.at("autoPauseMemory"), false);
  EXPECT_EQ(boost::json::serialize(body.at("autoResume")), R"({"enabled":true})");
  EXPECT_EQ(boost::json::serialize(body.at("volumeMounts")), R"([{"name":"vol1","path":"/mnt/a"}])");
  const std::string added = R"("rules":{"api.example.com":[{"transform":{"headers":{"Authorization":"Bearer x"}}}]})";
  EXPECT_EQ(boost::json::serialize(body.at("network")),
            R"({"allowOut":["api.example.com"],"denyOut":["0.0.0.0/0"],"maskRequestHost":"localhost:${PORT}",)" +
                added + "}");
  // A change of the rules has no settings that apply to creation only.
  EXPECT_EQ(boost::json::serialize(rules.fields(false)),
            R"({"allowOut":["api.example.com"],"denyOut":["0.0.0.0/0"],)" + added + "}");
}

TEST(E2bFilter, metadata_is_encoded_three_times_and_times_are_in_milliseconds) {
  sandbox_filter filter;
  EXPECT_EQ(filter.query(), "state=running,paused");
  filter.metadata = {{"a b", "c/d"}, {"e", "f"}};
  EXPECT_EQ(filter.query(), "state=running,paused&metadata=a%252520b%3Dc%25252Fd%26e%3Df");
  filter = sandbox_filter();
  filter.states = sandbox_states::paused;
  filter.template_id = "team/base:v1";
  filter.started_after = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'045));
  filter.oldest_first = true;
  EXPECT_EQ(filter.query(),
            "state=paused&template=team%2Fbase%3Av1&startedAfter=2023-11-14T22%3A13%3A20.045Z&order=asc");
}

// Feature: A13
TEST(E2bCreate, a_gate_lets_a_burst_through_and_then_one_at_a_time) {
  const rate_limiter gate(2, 200ms);
  const rate_limiter copy = gate;
  const auto now = rate_limiter::clock::now();
  EXPECT_EQ(gate.reserve(now), now);
  EXPECT_EQ(copy.reserve(now), now);
  EXPECT_EQ(gate.reserve(now), now + 200ms);
  EXPECT_EQ(copy.reserve(now), now + 400ms);
  EXPECT_EQ(gate.reserve(now + 10s), now + 10s);
  EXPECT_EQ(code_of([] { rate_limiter(0, 1ms); }), exec_errc::invalid_argument);
}

TEST(E2bInfo, what_is_missing_or_null_is_empty) {
  const boost::json::value description =
      boost::json::parse(R"({"sandboxID":"i1","domain":null,"trafficAccessToken":null,"envdAccessToken":"t",)"
                         R"("metadata":{"a":"b","c":1},"cpuCount":2,"memoryMB":"x","new":{}})");
  const sandbox_info info(description.as_object());
  EXPECT_EQ(info.id(), "i1");
  EXPECT_EQ(info.domain(), "");
  EXPECT_TRUE(info.traffic_token().empty());
  EXPECT_EQ(info.access_token().reveal(), "t");
  EXPECT_EQ(info.metadata().size(), 1U);
  EXPECT_EQ(info.cpus(), 2);
  EXPECT_EQ(info.memory_mib(), 0);
  EXPECT_EQ(sandbox_info(boost::json::object()).id(), "");
}

TEST(E2bError, a_status_becomes_a_code_and_something_to_do) {
  EXPECT_EQ(refused_error("x", 401, "no").code(), exec_errc::permission_denied);
  EXPECT_EQ(refused_error("x", 404, "no").code(), exec_errc::not_found);
  EXPECT_EQ(refused_error("x", 429, "no").code(), exec_errc::provider_failed);
  EXPECT_EQ(refused_error("x", 400, "no").code(), exec_errc::invalid_argument);
  EXPECT_EQ(refused_error("x", 429, "").cause().value(), 429);
  const std::string full =
      refused_error("x", 429, "you have reached the maximum number of concurrent E2B sandboxes").what();
  EXPECT_NE(full.find("close unneeded sandboxes"), std::string::npos) << full;
  const std::string elsewhere = refused_error("x", 302, "").what();
  EXPECT_NE(elsewhere.find("not followed"), std::string::npos) << elsewhere;
  const std::string page = refused_error("x", 502, "<html>\x1b[31m\n").what();
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\n'), std::string::npos);
  EXPECT_EQ(said_message(R"({"code":400,"message":"Timeout must be greater than 0"})"),
            "Timeout must be greater than 0");
  EXPECT_EQ(said_message("<html>" + std::string(1000, 'x')).size(), 400U);
}

}  // namespace
