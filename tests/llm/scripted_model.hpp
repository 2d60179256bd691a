// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/llm/chat_model.hpp>

#include "support/files_by_members.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam_test {

/// A model in this process that returns scripted replies.
class scripted_model {
 public:
  using step = std::function<cofferdam::chat_reply(const cofferdam::chat_request& asked)>;

  /// The received requests and the scripted replies. Copies of the model share one state.
  class state {
   public:
    std::deque<step> script;
    std::vector<cofferdam::chat_request> asked;
  };

  scripted_model& say(std::string text) {
    return then([text](const cofferdam::chat_request&) {
      return cofferdam::chat_reply(cofferdam::chat_message::assistant(text));
    });
  }
  scripted_model& call(std::string name, std::string arguments) { return calls({{name, arguments}}); }
  scripted_model& calls(std::vector<std::pair<std::string, std::string>> list) {
    return then([list](const cofferdam::chat_request&) {
      cofferdam::chat_message message = cofferdam::chat_message::assistant("");
      int number = 0;
      for (const auto& [name, arguments] : list)
        message.call(cofferdam::chat_tool_call("c" + std::to_string(number++), name, arguments));
      cofferdam::chat_reply reply(std::move(message));
      cofferdam::chat_usage usage;
      usage.input = 10;
      usage.output = 5;
      reply.usage(usage);
      return reply;
    });
  }
  scripted_model& fail(cofferdam::chat_errc why) {
    return then([why](const cofferdam::chat_request&) -> cofferdam::chat_reply {
      throw cofferdam::chat_failure(why, "scripted failure");
    });
  }
  scripted_model& then(step scripted) {
    state_->script.push_back(std::move(scripted));
    return *this;
  }

  cofferdam::awaitable<cofferdam::chat_reply> chat(cofferdam::chat_request request) {
    return answer(state_, std::move(request));
  }

  const std::vector<cofferdam::chat_request>& asked() const { return state_->asked; }
  std::size_t left() const { return state_->script.size(); }
  /// Returns the text of the last message of the n-th request, counted from 0.
  std::string told(std::size_t n) const { return state_->asked.at(n).messages().back().text(); }

 private:
  static cofferdam::awaitable<cofferdam::chat_reply> answer(std::shared_ptr<state> shared,
                                                            cofferdam::chat_request request) {
    shared->asked.push_back(std::move(request));
    if (shared->script.empty()) throw cofferdam::chat_failure(cofferdam::chat_errc::rejected, "the script has ended");
    const step next = std::move(shared->script.front());
    shared->script.pop_front();
    cofferdam::chat_reply reply = next(shared->asked.back());
    co_return reply;
  }

  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// An environment whose files are in memory. A function of the test returns the results of commands. Copies share one
/// state.
class memory_environment {
 public:
  class state {
   public:
    std::map<std::string, cofferdam::bytes> files;
    std::map<std::string, cofferdam::file_type> others;  ///< names that are not regular files, with their type
    std::function<cofferdam::command_result(const cofferdam::command&)> runs;
    std::vector<cofferdam::command> commands;
    bool lost = false;
  };

  state& all() const { return *state_; }
  std::string text(const std::string& path) const { return std::string(cofferdam::as_text(state_->files.at(path))); }

  cofferdam::awaitable<cofferdam::command_result> run_command(cofferdam::command c) {
    if (state_->lost) throw cofferdam::error(cofferdam::exec_errc::provider_lost, "lost");
    state_->commands.push_back(c);
    if (!state_->runs) co_return cofferdam::command_result::exited(0);
    co_return state_->runs(c);
  }
  cofferdam::awaitable<cofferdam::bytes> read_file(std::string path, std::size_t max_bytes) {
    const std::string name = cofferdam::workspace_path(path);
    const auto found = state_->files.find(name);
    if (found == state_->files.end()) throw missing(name);
    if (found->second.size() > max_bytes)
      throw cofferdam::error(cofferdam::exec_errc::too_large, name + " is too large");
    co_return found->second;
  }
  cofferdam::awaitable<void> write_file(std::string path, cofferdam::bytes_view content) {
    state_->files[cofferdam::workspace_path(path)] = cofferdam::bytes(content.begin(), content.end());
    co_return;
  }
  cofferdam::file_system files() { return cofferdam_test::files_by_members(*this); }
  cofferdam::awaitable<cofferdam::directory_entry> stat(std::string path) {
    const std::string name = cofferdam::workspace_path(path);
    const auto other = state_->others.find(name);
    if (other != state_->others.end()) co_return cofferdam::directory_entry(name, other->second, 0, 0644);
    const auto found = state_->files.find(name);
    if (found == state_->files.end()) throw missing(name);
    co_return cofferdam::directory_entry(name, cofferdam::file_type::regular, found->second.size(), 0644);
  }
  cofferdam::awaitable<std::vector<cofferdam::directory_entry>> list(std::string path,
                                                                     cofferdam::list_options options) {
    const cofferdam::detail::listing_room room(options, path);
    std::vector<cofferdam::directory_entry> entries;
    for (const auto& [name, content] : state_->files)
      if (room.reaches(name)) entries.emplace_back(name, cofferdam::file_type::regular, content.size(), 0644);
    for (const auto& [name, type] : state_->others)
      if (room.reaches(name)) entries.emplace_back(name, type, 0, 0755);
    co_return entries;
  }
  cofferdam::awaitable<void> make_directory(std::string path) {
    state_->others[cofferdam::workspace_path(path)] = cofferdam::file_type::directory;
    co_return;
  }
  cofferdam::awaitable<void> remove(std::string path) {
    state_->files.erase(path);
    co_return;
  }
  cofferdam::awaitable<void> rename(std::string, std::string) { co_return; }
  cofferdam::awaitable<void> close() { co_return; }

 private:
  static cofferdam::error missing(const std::string& name) {
    return cofferdam::error(cofferdam::exec_errc::not_found, "'" + name + "': no such file");
  }

  std::shared_ptr<state> state_ = std::make_shared<state>();
};

}  // namespace cofferdam_test
