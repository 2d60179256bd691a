// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/mcp/call.hpp>
#include <cofferdam/serve/mcp/definitions.hpp>
#include <cofferdam/serve/mcp/detail/code_offers.hpp>
#include <cofferdam/serve/mcp/detail/sealed_state.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>
#include <cofferdam/serve/mcp/server_options.hpp>
#include <cofferdam/tools/definition.hpp>

#include <asio/any_io_executor.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

template <class Definition, class Handler>
class registered {
 public:
  registered(Definition definition, Handler handler) : what(std::move(definition)), serve(std::move(handler)) {}
  Definition what;
  Handler serve;
};
using registered_tool = registered<tools::definition, tool_handler>;
using registered_resource = registered<resource_definition, resource_handler>;
using registered_prompt = registered<prompt_definition, prompt_handler>;

/// An interface that is notified when a list or a resource of the server has changed.
class change_listener {
 public:
  change_listener() = default;
  change_listener(const change_listener&) = delete;
  change_listener& operator=(const change_listener&) = delete;
  virtual ~change_listener() = default;
  /// \param kind         the changed list ("tools", "prompts" or "resources"), or the URI of the changed resource.
  /// \param is_resource  true if `kind` is a URI.
  virtual void changed(std::string_view kind, bool is_resource) = 0;
};

/// The state that all clients of a server share.
class server_core {
 public:
  server_core(asio::any_io_executor executor, server_options options)
      : executor_(std::move(executor)), options_(std::move(options)) {
    plan.has_files = options_.has_files();
    plan.at_once = options_.at_once();
    plan.waiting = options_.waiting();
  }

  const asio::any_io_executor& executor() const noexcept { return executor_; }
  const server_options& options() const noexcept { return options_; }

  workspace_plan plan;
  std::vector<std::shared_ptr<const registered_tool>> tools;
  std::vector<std::shared_ptr<const registered_resource>> resources;  // resources and templates
  std::vector<std::shared_ptr<const registered_prompt>> prompts;
  completion_handler complete;
  const std::shared_ptr<code_offers> offers = std::make_shared<code_offers>();
  sealed_states sealed;
  std::uint64_t revision = 0;  // counts the changes of all lists and resources

  /// Returns a tool by its name; null if there is none. The caller must keep the result during a call, because the tool
  /// may be removed meanwhile.
  std::shared_ptr<const registered_tool> tool(std::string_view name) const {
    for (const auto& entry : tools)
      if (entry->what.name() == name) return entry;
    return nullptr;
  }
  std::shared_ptr<const registered_prompt> prompt(std::string_view name) const {
    for (const auto& entry : prompts)
      if (entry->what.name() == name) return entry;
    return nullptr;
  }

  void listen(const std::shared_ptr<change_listener>& observer) { listeners_.push_back(observer); }
  void changed(std::string_view kind, bool is_resource) {
    ++revision;
    std::erase_if(listeners_, [](const std::weak_ptr<change_listener>& observer) { return observer.expired(); });
    const std::list<std::weak_ptr<change_listener>> snapshot = listeners_;
    for (const std::weak_ptr<change_listener>& observer : snapshot)
      if (const auto alive = observer.lock()) alive->changed(kind, is_resource);
  }

  void report(const std::string& doing, const std::exception_ptr& failure) const {
    if (options_.on_error()) options_.on_error()(doing, failure);
  }

  boost::json::object identity(std::string_view version) const {
    boost::json::object result;
    result["name"] = options_.name();
    if (!options_.title().empty() && version >= "2025-06-18") result["title"] = options_.title();
    result["version"] = options_.version();
    return result;
  }

  boost::json::object capabilities() const {
    boost::json::object lists;
    lists["listChanged"] = true;
    boost::json::object result;
    if (!tools.empty()) result["tools"] = lists;
    if (!resources.empty() || plan.open_environment) {
      boost::json::object mine = lists;
      mine["subscribe"] = !resources.empty();
      result["resources"] = std::move(mine);
    }
    if (!prompts.empty()) result["prompts"] = lists;
    if (complete) result["completions"] = boost::json::object();
    result["logging"] = boost::json::object();
    return result;
  }

 private:
  asio::any_io_executor executor_;
  server_options options_;
  std::list<std::weak_ptr<change_listener>> listeners_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
