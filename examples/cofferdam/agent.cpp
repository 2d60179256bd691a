// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// `cofferdam agent`: a model works on a task with your files, through any OpenAI-compatible server. Prints the turns of
// the model, its messages, its commands with their output as it arrives, and finally the files that it has made.
#include <cofferdam/agent.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/with.hpp>

#include "options.hpp"
#include "place.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session.hpp"
#include "subcommands.hpp"

#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace program {

namespace {

using namespace cofferdam;

/// The colours of the headings, which are empty texts if colours are not wanted.
class style {
 public:
  const char* heading = "";
  const char* call = "";
  const char* end = "";

  style() {
    if (!has_colour(STDOUT_FILENO)) return;
    heading = "\x1b[1m";
    call = "\x1b[36m";
    end = "\x1b[0m";
  }
};

void show(const agent_event& what) {
  const style look;
  switch (what.kind()) {
    case agent_event_kind::turn:
      std::cout << "\n" << look.heading << "== turn " << what.turn() << look.end << "\n";
      break;
    case agent_event_kind::text: std::cout << printable_text(what.text()) << std::flush; break;
    case agent_event_kind::tool_begun:
      std::cout << "\n"
                << look.call << "-> " << one_line(what.name()) << look.end << " " << one_line(what.text(), 300) << "\n";
      break;
    case agent_event_kind::tool_output: std::cout << printable_text(what.text()) << std::flush; break;
    case agent_event_kind::tool_ended:
      std::cout << (what.ok() ? "<- ok, " : "<- failed, ") << what.duration().count() / 1'000'000 << " ms\n";
      break;
    case agent_event_kind::shortened: std::cout << "(" << what.text() << ")\n"; break;
    case agent_event_kind::saved: std::cout << "saved " << what.text() << " (" << what.size() << " bytes)\n"; break;
    case agent_event_kind::not_saved: std::cout << "not saved: " << what.text() << "\n"; break;
    case agent_event_kind::reasoning: break;
  }
}

/// A function of this program that the model may call, beside the tools for commands and files.
awaitable<std::string> today() {
  const std::chrono::year_month_day date(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  std::string text = std::to_string(static_cast<int>(date.year()));
  for (const unsigned part : {static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day())})
    text += (part < 10 ? "-0" : "-") + std::to_string(part);
  co_return text;
}

awaitable<int> work(agent_options chosen) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  if (chosen.base_url.empty() && !has_model_variable())
    refuse("agent needs an API key in the environment variable OPENAI_API_KEY, or a server: --base-url URL");
  chat_completions_options options(chosen.model);
  if (!chosen.base_url.empty()) options.base_url(chosen.base_url).key_from_environment();
  agent helper(chat_completions_client(executor, options));
  helper.max_turns(chosen.max_turns).instructions(about_network(chosen.place));
  if (!chosen.skills.empty()) helper.environment_tools().tool(tools::skills(chosen.skills));

  progress shown(chosen.quiet);
  any_provider provider = make_place(chosen.place, &shown);
  const int status = co_await with(std::move(provider), [&](any_environment& env) -> awaitable<int> {
    shown.clear();
    agent_session session(helper, env);
    if (!chosen.inputs.empty()) session.input_files(files(chosen.inputs));
    session.output_dir(chosen.output).save_unfinished().on_event(show);
    session.tool(tools::function("today", "Returns today's date in UTC, as YYYY-MM-DD.", today));
    agent_result result = co_await session.run(chosen.task);
    std::cout << "\n"
              << (result.finished() ? "finished: " : "not finished: ") << printable_text(result.reason()) << "\n"
              << result.turns() << " turns, " << result.usage().input << " tokens in, " << result.usage().output
              << " out\n";
    co_return result.finished() ? 0 : 1;
  });
  co_return status;
}

}  // namespace

int run_agent(std::vector<std::string> words) {
  const std::optional<agent_options> chosen = parse_agent(std::move(words));
  if (!chosen) return 0;
  session used;
  return used.run(work(*chosen));
}

}  // namespace program
