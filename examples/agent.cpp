// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// An agent: a model works on a task with your files, through any OpenAI-compatible server. Expected output: the turns
// of the model, its messages, its commands with their output as it arrives, and finally the files that it has made for
// you.
#include <cofferdam/agent.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/make_provider.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace cofferdam;

constexpr std::string_view usage =
    "agent [options] TASK\n"
    "  --input FILE       a file, directory or pattern to work on; may be given several times\n"
    "  --output DIR       folder for finished files (default: agent-output); unfinished work goes to DIR/unfinished\n"
    "  --provider NAME    jail (default), docker[:IMAGE], e2b[:TEMPLATE], or local, which does not isolate: it runs as "
    "you\n"
    "  --base-url URL     an OpenAI-compatible server (default: OPENAI_BASE_URL, or OpenAI itself)\n"
    "  --model NAME       the model (default: gpt-5-mini)\n"
    "  --max-turns N      the maximum number of turns (default: 30)\n"
    "  --help             prints this text\n"
    "The API key is read from the environment variable OPENAI_API_KEY.\n";

struct settings {
  std::string task;
  std::vector<std::string> inputs;
  std::string output = "agent-output";
  std::string provider = "sandbox";
  std::string base_url;
  std::string model = "gpt-5-mini";
  std::size_t max_turns = 30;
  bool help = false;
};

void show(const agent_event& what) {
  switch (what.kind()) {
    case agent_event_kind::turn: std::cout << "\n== turn " << what.turn() << "\n"; break;
    case agent_event_kind::text: std::cout << printable_text(what.text()) << std::flush; break;
    case agent_event_kind::tool_begun:
      std::cout << "\n-> " << one_line(what.name()) << " " << one_line(what.text(), 300) << "\n";
      break;
    case agent_event_kind::tool_output: std::cout << printable_text(what.text()) << std::flush; break;
    case agent_event_kind::tool_ended:
      std::cout << (what.success() ? "<- ok, " : "<- failed, ") << what.duration().count() / 1'000'000 << " ms\n";
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

awaitable<void> work(settings chosen) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  chat_completions_options options(chosen.model);
  if (!chosen.base_url.empty()) options.base_url(chosen.base_url).key_from_environment();
  agent helper(chat_completions_client(executor, options));
  helper.max_turns(chosen.max_turns);

  any_provider provider = make_provider(chosen.provider);
  co_await with(provider, [&](any_environment& env) -> awaitable<void> {
    agent_session session(helper, env);
    if (!chosen.inputs.empty()) session.input_files(files(chosen.inputs));
    session.output_dir(chosen.output).save_unfinished().on_event(show);
    session.tool(tools::function("today", "Returns today's date in UTC, as YYYY-MM-DD.", today));
    agent_result result = co_await session.run(chosen.task);
    std::cout << "\n"
              << (result.finished() ? "finished: " : "not finished: ") << printable_text(result.reason) << "\n"
              << result.turns << " turns, " << result.usage.input << " tokens in, " << result.usage.output << " out\n";
  });
}

settings parse(const std::vector<std::string>& words) {
  settings parsed;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&] {
      if (++i == words.size()) throw error(exec_errc::invalid_argument, word + " needs a value; see --help");
      return words[i];
    };
    if (word == "--help" || word == "-h") {
      parsed.help = true;
    } else if (word == "--input") {
      parsed.inputs.push_back(value());
    } else if (word == "--output") {
      parsed.output = value();
    } else if (word == "--provider") {
      parsed.provider = value();
    } else if (word == "--base-url") {
      parsed.base_url = value();
    } else if (word == "--model") {
      parsed.model = value();
    } else if (word == "--max-turns") {
      const std::string number = value();
      const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), parsed.max_turns);
      if (problem != std::errc() || end != number.data() + number.size())
        throw error(exec_errc::invalid_argument, "--max-turns needs a number, not \"" + one_line(number) + "\"");
    } else if (word.starts_with("--")) {
      throw error(exec_errc::invalid_argument, "unknown option \"" + one_line(word) + "\"; see --help");
    } else {
      parsed.task += (parsed.task.empty() ? "" : " ") + word;
    }
  }
  return parsed;
}

int main(int count, char** arguments) try {
  const settings chosen = parse(std::vector<std::string>(arguments + 1, arguments + count));
  if (!chosen.help && !chosen.task.empty()) return cofferdam::run(work(chosen));
  std::cout << usage;
} catch (const std::exception& error) {
  std::cerr << "agent: " << error.what() << "\n";
  return 1;
}
