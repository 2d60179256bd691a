// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Lets an agent give a part of its work to another agent, in the same sandbox, and counts the tokens of both. Scripted
// models take the place of a service, so no key is needed. Expected output: the tools that are called, the result, and
// the cost of each agent.
#include <cofferdam/agent.hpp>
#include <cofferdam/sandbox.hpp>

#include <chrono>
#include <cstddef>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace cofferdam;

// A model that makes one call in each turn. In your program, this is a chat_completions_client.
class scripted {
 public:
  explicit scripted(std::vector<chat_tool_call> calls) : calls_(std::move(calls)) {}
  awaitable<chat_reply> chat(chat_request request) {
    std::size_t turn = 0;
    for (const chat_message& each : request.messages()) turn += each.role() == chat_role::assistant ? 1 : 0;
    return answer(calls_.at(turn));
  }

 private:
  static awaitable<chat_reply> answer(chat_tool_call next) {
    chat_message message = chat_message::assistant("");
    message.call(std::move(next));
    chat_usage tokens;
    tokens.input = 1000;
    tokens.output = 100;
    co_return chat_reply(std::move(message)).usage(tokens).model("small");
  }

  std::vector<chat_tool_call> calls_;
};

awaitable<void> work() {
  std::vector<chat_tool_call> of_counter{{"1", "code_exec", R"({"cmd":"wc -l < names.txt > count.txt"})"},
                                         {"2", "finish", R"({"reason":"There are 3 names.","paths":["count.txt"]})"}};
  std::vector<chat_tool_call> of_writer{{"1", "write_file", R"({"path":"names.txt","content":"Ada\nBob\nCleo\n"})"},
                                        {"2", "count", R"({"task":"Count the names in names.txt."})"},
                                        {"3", "finish", R"({"reason":"Written and counted.","paths":[]})"}};
  usage_meter meter;
  meter.price("small", token_price(0.25, 2.00));  // for a million tokens

  agent counter(meter.count("counter", scripted(of_counter)));
  counter.max_turns(5).time_limit(std::chrono::minutes(2));
  agent writer(meter.count("writer", scripted(of_writer)));
  writer.environment_tools().tool(tools::sub_agent("count", "Counts what is in files.", counter));

  co_await with(sandbox(), [&](auto& env) -> awaitable<void> {
    agent_session session(writer, env);
    session.on_event([](const agent_event& what) {
      if (what.kind() == agent_event_kind::tool_begun) std::cout << what.name() << "\n";
      if (what.kind() == agent_event_kind::tool_output) std::cout << "  " << what.text();
    });
    agent_result result = co_await session.run("Write three names, and let them be counted.");
    std::cout << result.reason() << " " << result.usage().total() << " tokens\n";
  });
  for (const metered_usage& each : meter.entries())
    std::cout << each.label << ": " << each.calls << " calls, " << each.usage.cost << "\n";
}

int main() { return cofferdam::run(work()); }
