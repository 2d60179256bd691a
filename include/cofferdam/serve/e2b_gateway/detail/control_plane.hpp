// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A request to the control plane, which manages sandboxes. \par Source  E2B's API, openapi.yml.
class control_plane {
 public:
  control_plane(std::shared_ptr<sandbox_registry> core, http_call& call) : core_(std::move(core)), call_(call) {}

  /// Handles the request and returns the reply.
  /// \throws http_refusal, and the exceptions of the environments. In these cases no reply was sent.
  static awaitable<http_reply> answer(control_plane self) {
    const std::string_view method = self.call_.method();
    if (self.call_.path() == "/health") {
      if (method != "GET") throw wrong_method();
      co_return text_reply(200, "Health check successful");
    }
    self.owner_ = self.core_->owner_of(self.call_);
    std::vector<std::string> parts;
    for (const std::string_view part : cofferdam::detail::path_components(self.call_.path()))
      parts.push_back(form_decode(part));
    const bool is_v2 = !parts.empty() && parts.front() == "v2";
    if (is_v2) parts.erase(parts.begin());
    if (parts.empty() || parts.front() != "sandboxes" || parts.size() > 3) throw unknown();
    if (parts.size() == 1) {
      if (method == "POST") {
        http_reply created = co_await self.create(is_v2);
        co_return created;
      }
      if (method != "GET") throw wrong_method();
      co_return self.list(!is_v2);
    }
    if (parts.size() == 2 && parts[1] == "metrics" && !is_v2) {
      if (method != "GET") throw wrong_method();
      co_return self.all_metrics();
    }
    const sandbox_registry::sandbox_pointer sandbox = self.core_->find(parts[1], self.owner_);
    if (parts.size() == 2) {
      if (is_v2) throw unknown();
      if (method == "GET") co_return json_reply(200, detail_object(*sandbox));
      if (method != "DELETE") throw wrong_method();
      self.core_->close(sandbox);
      co_await served_sandbox::until_closed(sandbox);
      co_return http_reply(204);
    }
    http_reply done = co_await self.act(sandbox, parts[2], is_v2);
    co_return done;
  }

 private:
  static http_refusal unknown() { return {404, "validation error: no matching operation was found"}; }
  static http_refusal wrong_method() { return {400, "validation error: method not allowed"}; }

  awaitable<boost::json::object> read() {
    const cofferdam::detail::request_body body = co_await sandbox_registry::read_body(core_, call_, owner_);
    boost::json::object object = json_object_of(body.text());
    co_return object;
  }

  std::chrono::seconds checked_life(std::int64_t seconds) const {
    if (seconds <= 0) throw http_refusal(400, "Timeout must be greater than 0");
    const std::chrono::seconds max_lifetime = core_->options().max_lifetime();
    if (seconds > max_lifetime.count())
      throw http_refusal(400,
                         "Timeout cannot be greater than " + std::to_string(max_lifetime.count() / 3600) + " hours");
    return std::chrono::seconds(seconds);
  }

  awaitable<http_reply> create(bool is_v2) {
    const boost::json::object object = co_await read();
    const api_fields fields(object);
    sandbox_settings settings;
    const std::optional<std::string> asked = fields.text("templateID");
    if (!asked)
      throw http_refusal(
          400, "validation error: request body has an error: doesn't match schema: property \"templateID\" is missing");
    settings.template_name = template_of(*asked);
    const std::int64_t usual = is_v2 ? 300 : 15;
    const std::chrono::seconds life = checked_life(fields.number("timeout").value_or(usual));
    if (is_v2 || fields.boolean("secure").value_or(false)) settings.token = cofferdam::detail::random_token();
    if (settings.token && !core_->options().ports().empty()) settings.traffic_token = cofferdam::detail::random_token();
    settings.metadata = fields.strings("metadata");
    settings.variables = fields.strings("envVars");
    for (const auto& [name, value] : settings.variables) static_cast<void>(command().variable(name, value));
    check_size("metadata", settings.metadata);
    check_size("envVars", settings.variables);
    settings.pauses_at_end = fields.boolean("autoPause").value_or(false);
    settings.owner = owner_;
    refuse_what_is_not_here(fields);
    const sandbox_registry::sandbox_pointer sandbox =
        co_await sandbox_registry::create(core_, std::move(settings), life);
    co_return json_reply(201, sandbox_object(*sandbox));
  }

  std::string template_of(std::string name) const {
    for (char& c : name) c = cofferdam::detail::lowered(c);
    const std::string plain = name.substr(0, name.find(':'));
    const std::vector<std::string>& known = core_->options().templates();
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const std::string& pattern) { return pattern == "*" || pattern == plain; });
    const bool is_name = !plain.empty() && plain.size() <= 128 &&
                         std::all_of(plain.begin(), plain.end(), [](char c) { return c > ' ' && c < 0x7F; });
    if (!is_known || !is_name) throw http_refusal(404, "template '" + one_line(name.substr(0, 128)) + "' not found");
    return plain;
  }

  /// Refuses strings (metadata or environment variables) of more than 64 KiB in total, because every list of sandboxes
  /// and every command repeats them.
  static void check_size(std::string_view name, const string_pairs& strings) {
    constexpr std::size_t max_bytes = std::size_t{64} * 1024;
    std::size_t size = 0;
    for (const auto& [key, value] : strings) size += key.size() + value.size();
    if (size > max_bytes) throw http_refusal(400, std::string(name) + ": more than 64 KiB");
  }

  /// Refuses options that are not supported. Otherwise a client would rely on isolation that does not exist.
  void refuse_what_is_not_here(const api_fields& fields) const {
    const bool internet = fields.boolean("allow_internet_access").value_or(true);
    if (!internet && core_->options().has_internet())
      throw http_refusal(400,
                         "allow_internet_access: this gateway cannot remove the network of a sandbox; use a backend "
                         "without network, and declare it in the gateway's options");
    if (const boost::json::value* const resume = fields.find("autoResume"))
      if (resume->is_object() && api_fields(resume->get_object()).boolean("enabled").value_or(false))
        throw http_refusal(400, "autoResume: not supported by this gateway");
    for (const std::string_view name : {"network", "volumeMounts", "mcp", "iam"})
      if (fields.has_value(name))
        throw http_refusal(400, std::string(name) + ": not supported by this gateway; leave it out");
  }

  http_reply list(bool is_old) const {
    const list_filter filter{query_fields(call_.query()), is_old};
    std::vector<const served_sandbox*> matching;
    std::size_t running = 0;
    for (const auto& [id, sandbox] : core_->sandboxes()) {
      if (sandbox->settings().owner != owner_ || !filter.takes(*sandbox)) continue;
      if (sandbox->now() == served_sandbox::state::running) ++running;
      if (filter.is_behind(*sandbox)) matching.push_back(sandbox.get());
    }
    std::sort(matching.begin(), matching.end(), [&](const served_sandbox* a, const served_sandbox* b) {
      if (filter.is_ascending()) return a->settings().number < b->settings().number;
      return a->settings().number > b->settings().number;
    });
    boost::json::array listed;
    for (std::size_t i = 0; i < matching.size() && i < filter.limit(); ++i)
      listed.push_back(listed_object(*matching[i]));
    http_reply reply = json_reply(200, listed);
    if (matching.size() > filter.limit())
      reply.field("X-Next-Token", std::to_string(matching[filter.limit() - 1]->settings().number));
    if (!is_old) reply.field("X-Total-Running", std::to_string(running));
    return reply;
  }

  http_reply all_metrics() const {
    // The gateway does not know the resource usage of an environment, so the answer has no values for any id.
    boost::json::object answer;
    answer["sandboxes"] = boost::json::object();
    return json_reply(200, answer);
  }

  awaitable<http_reply> act(sandbox_registry::sandbox_pointer sandbox, std::string what, bool is_v2) {
    const std::string& method = call_.method();
    const bool is_get = what == "metrics" || what == "logs";
    const bool is_known = is_get || what == "connect" || what == "resume" || what == "pause" || what == "timeout" ||
                          what == "refreshes" || what == "network" || what == "snapshots" || what == "fork";
    if (!is_known || (is_v2 && what != "connect" && what != "logs")) throw unknown();
    const std::string_view due = is_get ? "GET" : what == "network" ? "PUT" : "POST";
    if (method != due) throw wrong_method();
    if (what == "metrics") co_return json_reply(200, boost::json::array());
    if (what == "logs") co_return logs();
    if (what == "network" || what == "snapshots" || what == "fork")
      throw http_refusal(501, what + ": not supported by this gateway");
    const boost::json::object object = co_await read();
    const api_fields fields(object);
    if (what == "timeout") {
      const std::int64_t seconds = fields.number("timeout").value_or(-1);
      if (seconds < 0) throw http_refusal(400, "validation error: \"timeout\" must be an integer of at least 0");
      if (sandbox->now() != served_sandbox::state::running)
        throw http_refusal(409, "Sandbox \"" + sandbox->settings().id + "\" is not running");
      const std::chrono::seconds longest = core_->options().max_lifetime();
      sandbox->live(std::min(longest, std::chrono::seconds(std::min<std::int64_t>(seconds, longest.count()))));
      co_return http_reply(204);
    }
    if (what == "refreshes") {
      const std::int64_t seconds = fields.number("duration").value_or(0);
      if (seconds < 0 || seconds > 3600)
        throw http_refusal(400, "validation error: \"duration\" must be an integer from 0 to 3600");
      prolong(*sandbox, std::chrono::seconds(std::max<std::int64_t>(15, seconds)));
      co_return http_reply(204);
    }
    if (what == "pause") {
      if (!sandbox->can_pause())
        throw http_refusal(501, "Error pausing sandbox - the backend of this gateway cannot be paused");
      const bool done = co_await served_sandbox::pause(sandbox);
      if (!done)
        throw http_refusal(409, "Error pausing sandbox - sandbox '" + sandbox->settings().id + "' is already paused");
      co_return http_reply(204);
    }
    const std::optional<std::int64_t> asked = fields.number("timeout");
    if (what == "connect" && !is_v2 && !asked)
      throw http_refusal(
          400, "validation error: request body has an error: doesn't match schema: property \"timeout\" is missing");
    const std::int64_t usual = what == "resume" ? 15 : 300;
    const std::chrono::seconds life = checked_life(asked.value_or(usual));
    const bool resumed = co_await served_sandbox::resume(sandbox, life);
    if (sandbox->now() == served_sandbox::state::ended) sandbox = core_->find(sandbox->settings().id, owner_);
    if (what == "resume" && !resumed)
      throw http_refusal(409, "Sandbox " + sandbox->settings().id + " is already running");
    if (!resumed) prolong(*sandbox, life);
    int status = 200;
    if (resumed) status = 201;
    co_return json_reply(status, sandbox_object(*sandbox));
  }

  static void prolong(served_sandbox& sandbox, std::chrono::seconds life) {
    if (sandbox.rest() < life) sandbox.live(life);
  }

  static http_reply logs() {
    boost::json::object answer;
    answer["logs"] = boost::json::array();
    answer["logEntries"] = boost::json::array();
    return json_reply(200, answer);
  }

  std::shared_ptr<sandbox_registry> core_;
  http_call& call_;
  cofferdam::detail::sha256_digest owner_{};
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
