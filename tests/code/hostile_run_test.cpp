// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Tests that a run which abuses its channel to the driver (the Python program that runs code in the sandbox) does not
// affect other runs, contexts or the host.
#include <cofferdam/code/detail/guest_json.hpp>
#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/detail/os/process_table.hpp>
#include <cofferdam/middleware/timeout.hpp>

#include "code/python_support.hpp"
#include "support/census.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam::detail::is_valid_utf8;
using namespace cofferdam_test;
using namespace std::chrono_literals;
using cofferdam::detail::parse_guest_json;

std::string object_of(std::size_t members) {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i)
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":[" + std::to_string(i) + "]";
  return text + "}";
}

std::string read_back(const std::string& text) {
  const std::optional<boost::json::value> value = parse_guest_json(text);
  return value ? boost::json::serialize(*value) : "(none)";
}

code_request of(const std::string& code) { return code_request(code).timeout(30s); }

/// Python code that obtains the run's channel to the driver. Any code can do this.
const std::string channel = "import os, struct, json, time\nchannel = display.__self__.channel\n";

}  // namespace

TEST(GuestJson, a_large_object_is_a_list_of_pairs) {
  for (const std::size_t members : {0U, 1U, 999U, 1000U}) EXPECT_EQ(read_back(object_of(members)), object_of(members));
  const std::string large = object_of(1001);
  const std::optional<boost::json::value> read = parse_guest_json(large);
  ASSERT_TRUE(read && read->is_object());
  EXPECT_EQ(read->at("$python"), "dict");
  const boost::json::array& items = read->at("items").as_array();
  ASSERT_EQ(items.size(), 1001U);
  EXPECT_EQ(boost::json::serialize(items[1000]), R"(["k1000",[1000]])");
}

TEST(GuestJson, large_and_small_ones_stand_in_each_other) {
  const std::string large = object_of(1500);
  const std::string items = boost::json::serialize(parse_guest_json(large)->at("items"));
  const std::string tagged = R"({"$python":"dict","items":)" + items + "}";
  EXPECT_EQ(
      read_back(R"({"a":[1,)" + large + R"(,{"b":)" + large + R"(}],"c":"\u00e9\n","d":-1.5,"e":null,"f":true})"),
      R"({"a":[1,)" + tagged + R"(,{"b":)" + tagged + "}],\"c\":\"\u00e9\\n\",\"d\":-1.5E0,\"e\":null,\"f\":true}");
  std::string nested = large;
  nested.back() = ',';
  nested += R"("inner":)" + large + R"(,"small":{"x":18446744073709551615}})";
  const std::optional<boost::json::value> read = parse_guest_json(nested);
  ASSERT_TRUE(read);
  const boost::json::array& outer = read->at("items").as_array();
  ASSERT_EQ(outer.size(), 1502U);
  EXPECT_EQ(boost::json::serialize(outer[1500]), R"(["inner",)" + tagged + "]");
  EXPECT_EQ(boost::json::serialize(outer[1501]), R"(["small",{"x":18446744073709551615}])");
}

TEST(GuestJson, what_is_none_is_refused) {
  const std::string large = object_of(1200);
  for (const std::string& wrong : {std::string(), std::string("{"), large + "x", large.substr(0, large.size() - 1),
                                   "[" + large, std::string("nul"), large + large})
    EXPECT_FALSE(parse_guest_json(wrong)) << wrong.substr(0, 20);
  EXPECT_TRUE(parse_guest_json(large + " \n"));
  for (const std::size_t depth : {512U, 513U}) {
    std::string deep(depth, '[');
    deep += std::string(depth, ']');
    EXPECT_EQ(parse_guest_json(deep).has_value(), depth == 512) << depth;
    const std::string beside = "[" + large + "," + deep.substr(1, deep.size() - 2) + "]";
    EXPECT_EQ(parse_guest_json(beside).has_value(), depth == 512) << depth;
  }
}

TEST(HostileRun, large_dicts_come_out_as_pairs) {
  code_result large = run_python(of("{str(i): i for i in range(1001)}"));
  ASSERT_TRUE(large.value()) << all_of(large);
  EXPECT_EQ(python_type(*large.value()), "dict");
  EXPECT_EQ(large.value()->at("items").as_array().size(), 1001U);
  code_result small = run_python(of("{str(i): i for i in range(1000)}"));
  ASSERT_TRUE(small.value()) << all_of(small);
  EXPECT_EQ(python_type(*small.value()), "");
  EXPECT_EQ(small.value()->as_object().size(), 1000U);
}

TEST(HostileRun, every_call_is_answered_whoever_wakes_whom) {
  code_result result = run_python(of(channel + R"py(
def call(number):
    body = json.dumps({"call": number, "name": "no such"}).encode()
    return struct.pack(">I", len(body) + 1) + b"c" + body
os.write(channel.descriptor, call("A" * 1000) + call(1) + call(2) + call(3))
[channel.receive()["call"] for _ in range(3)]
)py"));
  EXPECT_EQ(value_of(result), "[1,2,3]") << all_of(result);
}

TEST(HostileRun, what_it_is_told_and_does_not_read_is_not_kept_for_ever) {
  const std::size_t before = resident_memory();
  code_result result = run_python(of(channel + R"py(
body = json.dumps({"call": "A" * 2000000, "name": "no such"}).encode()
message = struct.pack(">I", len(body) + 1) + b"c" + body
for _ in range(60):
    view = memoryview(message)
    while view:
        view = view[os.write(channel.descriptor, view):]
"done"
)py"));
  EXPECT_EQ(value_of(result), "\"done\"") << all_of(result);
  if (is_sanitized()) return;
  EXPECT_LT(resident_memory(), before + 64U * 1024 * 1024);
}

TEST(HostileRun, forged_reports_and_displays_keep_to_what_is_promised) {
  code_result result = run_python(of(channel + R"py(
channel.send(b"d", {"forms": {}, "value": False})
channel.send(b"d", {"forms": {str(i): "x" for i in range(500)}, "value": False})
channel.send(b"r", {"ok": True, "exit": 0, "value": None, "text": "\u00e9" * 3000000})
os._exit(0)
)py"));
  EXPECT_TRUE(result.ok()) << result.reason();
  EXPECT_LE(result.value_text().size(), 80U * 1024);
  EXPECT_TRUE(is_valid_utf8(result.value_text()));
  ASSERT_EQ(result.displays().size(), 2U);
  for (const display_output& display : result.displays()) {
    EXPECT_TRUE(display.forms().contains("text/plain"));
    EXPECT_LE(display.forms().size(), 32U);
  }
}

TEST(HostileRun, a_stopped_monitor_does_not_stop_its_context_for_ever) {
  with_python(python().interrupt_grace(200ms), [](python_here& runner) -> awaitable<void> {
    code_request stops =
        of("import os, signal, time\nos.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(1.1)").context("a");
    stops.timeout(1s);
    code_result first = co_await runner.run_code(std::move(stops));
    EXPECT_EQ(first.kind(), error_kind::timeout) << all_of(first);
    code_result next = co_await runner.run_code(of("6 * 7").context("a"));
    EXPECT_EQ(value_of(next), "42") << all_of(next);
  });
}

TEST(HostileRun, processes_that_fork_all_the_time_die_with_their_run) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    code_result chain = co_await runner.run_code(of(R"py(
import os, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        open("/proc/self/comm", "w").write("always_forking")
        end = time.time() + 60
        while time.time() < end:
            if os.fork():
                os._exit(0)
        os._exit(0)
time.sleep(0.3)
)py"));
    EXPECT_TRUE(chain.ok()) << all_of(chain);
    for (const process_entry& entry : process_table()) EXPECT_NE(entry.name, "always_forking");
    code_result next = co_await runner.run_code(of("6 * 7"));
    EXPECT_EQ(value_of(next), "42") << all_of(next);
  });
}

TEST(HostileRun, directories_and_long_names_are_looked_at_within_bounds) {
  with_python(python().track_files(50), [](python_here& runner) -> awaitable<void> {
    code_result many = co_await runner.run_code(of("import os\nfor i in range(300): os.mkdir('d%d' % i)"));
    EXPECT_TRUE(many.ok()) << all_of(many);
    EXPECT_FALSE(many.files_are_complete());
    code_result next = co_await runner.run_code(of("6 * 7"));
    EXPECT_EQ(value_of(next), "42") << all_of(next);
  });
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto body = [](python_here& place) -> awaitable<void> {
      code_result names =
          co_await place.run_code(of("import os\nfolder = '\\x01' * 255\nos.mkdir(folder)\n"
                                     "for i in range(9000): open(folder + '/%04x' % i + '\\x01' * 250, 'w').close()"));
      EXPECT_TRUE(names.ok()) << all_of(names);
      EXPECT_GT(names.files().size(), 1000U);
      EXPECT_FALSE(names.files_are_complete());
    };
    co_await around_a_context(runner, body);
  });
  code_result deep = run_python(of("import os\nfor i in range(30):\n  os.mkdir('d' * 200)\n  os.chdir('d' * 200)"));
  EXPECT_TRUE(deep.ok()) << all_of(deep);
  EXPECT_FALSE(deep.files_are_complete());
}

TEST(HostileRun, a_listener_that_throws_ends_its_run_and_no_other) {
  with_python(python(), [](python_here& runner) -> awaitable<void> {
    const auto body = [](python_here& place) -> awaitable<void> {
      for (const bool by_display : {false, true}) {
        code_request request = of("import time\nprint('said', flush=True)\ndisplay(1)\ntime.sleep(60)");
        const auto hears = [](output_stream, bytes_view) { throw std::runtime_error("the listener's own"); };
        const auto shows = [](display_output) { throw std::runtime_error("the listener's own"); };
        if (by_display)
          request.on_display(shows);
        else
          request.on_output(hears);
        std::string message;
        try {
          co_await place.run_code(std::move(request));
        } catch (const std::runtime_error& failure) {
          message = failure.what();
        }
        EXPECT_EQ(message, "the listener's own");
      }
    };
    co_await around_a_context(runner, body);
  });
}

TEST(HostileRun, a_layer_that_ends_the_interpreter_is_named) {
  const python_folder folder;
  auto recipe = folder.provider() | cofferdam::timeout(1s) | python();
  run([&] {
    return with(recipe, [](auto& runner) -> awaitable<void> {
      code_result ended = co_await runner.run_code(of("import time\ntime.sleep(60)"));
      EXPECT_EQ(ended.kind(), error_kind::timeout) << all_of(ended);
      EXPECT_NE(ended.reason().find("layer"), std::string::npos) << ended.reason();
      code_result next = co_await runner.run_code(of("6 * 7"));
      EXPECT_EQ(value_of(next), "42") << all_of(next);
    });
  });
}
