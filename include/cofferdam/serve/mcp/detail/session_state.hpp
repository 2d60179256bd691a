// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/async_event.hpp>
#include <cofferdam/detail/core/async_semaphore.hpp>
#include <cofferdam/serve/mcp/detail/core.hpp>
#include <cofferdam/serve/mcp/detail/request.hpp>
#include <cofferdam/serve/mcp/detail/unread_answers.hpp>
#include <cofferdam/serve/mcp/detail/workspace.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The notifications that a client of the modern era (2026-07-28) has requested, and the request by which they are
/// sent.
class subscription {
 public:
  subscription(const asio::any_io_executor& executor, std::shared_ptr<request> of)
      : ended(executor), of_(std::move(of)) {
    const boost::json::object* const notifications = object_at(of_->message.params, "notifications");
    if (notifications == nullptr) return;
    const auto asks = [notifications](const char* name) {
      const boost::json::value* const flag = notifications->if_contains(name);
      return flag != nullptr && flag->is_bool() && flag->get_bool();
    };
    for (const char* const kind : {"tools", "prompts", "resources"})
      if (asks((std::string(kind) + "ListChanged").c_str())) kinds_.insert(kind);
    if (const boost::json::value* const uris = notifications->if_contains("resourceSubscriptions");
        uris != nullptr && uris->is_array())
      for (const boost::json::value& uri : uris->get_array())
        if (uri.is_string() && uris_.size() < 1000) uris_.insert(std::string(view_of(uri.get_string())));
  }

  async_event ended;

  /// Sends the first message, which lists the notifications that the client will receive.
  void acknowledge(bool has_tools, bool has_prompts, bool has_resources) {
    boost::json::object kept;
    const auto keep = [&](const char* kind, bool has) {
      if (!has) kinds_.erase(kind);
      if (kinds_.contains(kind)) kept[std::string(kind) + "ListChanged"] = true;
    };
    keep("tools", has_tools);
    keep("prompts", has_prompts);
    keep("resources", has_resources);
    if (!uris_.empty()) {
      boost::json::array uris;
      for (const std::string& uri : uris_) uris.emplace_back(uri);
      kept["resourceSubscriptions"] = std::move(uris);
    }
    boost::json::object params;
    params["notifications"] = std::move(kept);
    send("notifications/subscriptions/acknowledged", std::move(params), false);
  }

  void changed(std::string_view kind, bool is_resource) {
    boost::json::object params;
    if (is_resource) {
      if (!uris_.contains(std::string(kind))) return;
      params["uri"] = boost::json::string(json_view(kind));
      send("notifications/resources/updated", std::move(params), true);
    } else if (kinds_.contains(std::string(kind))) {
      send("notifications/" + std::string(kind) + "/list_changed", std::move(params), true);
    }
  }

 private:
  void send(const std::string& method, boost::json::object params, bool droppable) {
    boost::json::object meta;
    meta[json_view(meta_subscription)] = of_->message.id;
    params["_meta"] = std::move(meta);
    of_->out->send(rpc_notification(method, params), droppable);
  }

  std::shared_ptr<request> of_;
  std::set<std::string> kinds_;
  std::set<std::string> uris_;
};

/// The state of a session with a client.
class session_state : public change_listener {
 public:
  session_state(std::shared_ptr<server_core> its_core, std::shared_ptr<workspace> its_place, std::string its_principal)
      : core(std::move(its_core)),
        place(std::move(its_place)),
        principal(std::move(its_principal)),
        asked(std::make_shared<asked_table>()),
        unread(std::make_shared<unread_answers>(core->executor())),
        room(core->executor(), 1) {}

  std::shared_ptr<server_core> core;
  std::shared_ptr<workspace> place;
  std::string principal;  // identifies the client; a state that was sealed for one client is invalid for others
  std::shared_ptr<asked_table> asked;
  std::shared_ptr<unread_answers> unread;
  cofferdam::detail::async_semaphore
      room;             // one permit, for the first request that waits until the client has read more answers
  std::string version;  // negotiated in the handshake of the legacy era (up to 2025-11-25); empty before
  boost::json::object capabilities;
  int level = 3;  // warning, the default level of the legacy era (up to 2025-11-25)
  std::set<std::string> watched;
  std::shared_ptr<outlet>
      side;  // in the legacy era (up to 2025-11-25), for messages that belong to no request; may be null
  std::list<std::shared_ptr<subscription>> subscriptions;
  bool closing = false;

  void changed(std::string_view kind, bool is_resource) override {
    const std::list<std::shared_ptr<subscription>> snapshot = subscriptions;
    for (const std::shared_ptr<subscription>& entry : snapshot) entry->changed(kind, is_resource);
    if (version.empty() || !side) return;
    boost::json::object params;
    if (is_resource) {
      if (!watched.contains(std::string(kind))) return;
      params["uri"] = boost::json::string(json_view(kind));
      side->send(rpc_notification("notifications/resources/updated", params), true);
    } else {
      side->send(rpc_notification("notifications/" + std::string(kind) + "/list_changed", params), true);
    }
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
