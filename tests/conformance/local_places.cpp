// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/middleware/lazy.hpp>
#include <cofferdam/middleware/limit_concurrency.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/tap.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/variables.hpp>
#include <cofferdam/testing/fake_provider.hpp>

#include "conformance/places.hpp"
#include "support/far_provider.hpp"
#include "support/jail_tests.hpp"

#include <chrono>
#include <string>

namespace cofferdam_test {

namespace {

/// Returns a fake provider that implements the commands of the file suite, except those that need links or FIFOs.
cofferdam::any_provider fake_with_file_commands() {
  using cofferdam::command;
  using cofferdam::testing::fake_files;
  using cofferdam::testing::reply;
  cofferdam::testing::fake_provider fake;
  fake.on([](const command& c) { return c.words().size() == 2 && c.words().front() == "cat"; },
          [](const command& c, fake_files& files) { return reply(files.text(c.words().back())); });
  fake.on("wc -c < big",
          [](const command&, fake_files& files) { return reply(std::to_string(files.read("big").size())); });
  fake.on("mkdir d && cd d && touch a b c dd && mkdir e && touch e/f", [](const command&, fake_files& files) {
    for (const char* name : {"d/a", "d/b", "d/c", "d/dd", "d/e/f"}) files.write(name, "");
    return reply();
  });
  fake.on("tr -d '\\n' < whole | fold -w 1 | sort -u | tr -d '\\n'; wc -c < whole",
          [](const command&, fake_files& files) {
            const std::string text = files.text("whole");
            const bool is_whole = text.find_first_not_of(text.front()) == std::string::npos;
            return reply((is_whole ? text.substr(0, 1) : "mixed") + std::to_string(text.size()) + "\n");
          });
  fake.on("truncate -s 1T huge", reply().exit_code(1));
  return cofferdam::any_provider(fake);
}

}  // namespace

std::vector<place> local_places() {
  using namespace cofferdam;
  std::vector<place> places;
  // The attacks run over `local` and in the jail as a part of tests/attacks. "frames" and "layers" are `local` too, and
  // "without_warden" does not hold them.
  const std::string hostile = "HostileConformance*";
  places.push_back({"local", [] { return any_provider(local().without_warning()); }, hostile, ""});
  places.push_back({"frames", [] { return any_provider(far_provider()); }, hostile, ""});
  // These layers do not change the behaviour that the suites check. If the suites pass, no layer has omitted or
  // bypassed an operation.
  places.push_back({"layers",
                    [] {
                      return any_provider(any_provider(local().without_warning()) | limit_output(1024 * 1024) |
                                          timeout(std::chrono::minutes(10)) | variables("COFFERDAM_TEST", "1"));
                    },
                    hostile, ""});
  places.push_back({"more_layers",
                    [] {
                      return any_provider(local().without_warning() | retry().commands(".*") | limit_concurrency(1000) |
                                          tap(nullptr) | lazy());
                    },
                    hostile, ""});
  places.push_back({"jail", [] { return any_provider(jail()); }, hostile, has_jail() ? "" : "COFFERDAM_JAIL"});
  // The file operations are the same as in "local", so their suite does not run again.
  places.push_back({"without_warden",
                    [] { return any_provider(local().without_warning().warden(warden_policy::never)); },
                    "*file_conformance*:" + hostile, ""});
  // The commands of a fake are scripted by the test, and its files are never links, FIFOs or devices. The tests that
  // need more are left out.
  places.push_back({"fake", fake_with_file_commands,
                    "*command_conformance*:*lifetime_conformance*:*streaming_conformance*:*terminal_conformance*:"
                    "*link*:*fifo*:*a_stat_tells*:*what_a_command_changes:*in_new_folders:" +
                        hostile,
                    ""});
  return places;
}

}  // namespace cofferdam_test
