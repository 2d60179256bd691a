// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/api_objects.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/opened.hpp>
#include <cofferdam/serve/e2b_gateway/detail/repeated_creations.hpp>
#include <cofferdam/serve/e2b_gateway/detail/requested_sandbox.hpp>
#include <cofferdam/serve/e2b_gateway/detail/snapshots.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
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
    if (parts.size() == 1 && parts[0] == "snapshots") {
      if (method != "GET") throw wrong_method();
      co_return self.core_->snapshots().page(query_fields(self.call_.query()), self.owner_);
    }
    if (!parts.empty() && (parts[0] == "volumes" || parts[0] == "volumecontent")) {
      if (parts.size() == 1 && method == "GET") co_return json_reply(200, boost::json::array());
      throw http_refusal(501, "volumes: this gateway has no volumes; upload the files into each sandbox instead");
    }
    if (parts.size() == 2 && parts[0] == "templates" && method == "DELETE") self.refuse_to_delete(parts[1]);
    if (parts.size() == 3 && parts[0] == "templates" && parts[1] == "aliases" && method == "GET")
      co_return json_reply(200, self.alias_object(parts[2]));
    self.refuse_other_services(parts);
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
  /// Describes a template for a client that looks whether it exists.
  /// \throws http_refusal 404 if there is none.
  boost::json::object alias_object(const std::string& name) const {
    boost::json::object object;
    object["templateID"] = valid_json_text(template_of(name));
    object["public"] = false;
    return object;
  }

  /// Throws http_refusal 501 for the services of E2B that the gateway does not have, in all versions.
  static void refuse_other_services(const std::vector<std::string>& parts) {
    std::size_t first = 0;
    if (!parts.empty() && parts[0].size() == 2 && parts[0][0] == 'v') first = 1;
    if (parts.size() <= first) return;
    if (parts[first] == "templates")
      throw http_refusal(
          501,
          "templates: this gateway builds no templates; build an image with docker, and start the gateway "
          "with a template of this image: cofferdam serve --provider docker --template NAME=IMAGE");
    if (parts[first] == "secrets")
      throw http_refusal(501, "secrets: this gateway stores no secrets; pass them to each sandbox, in envs");
  }

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
    boost::json::object object;
    cofferdam::detail::sha256_digest digest{};
    const std::string key(call_.field("Idempotency-Key").value_or(std::string_view()));
    if (key.size() > 256) throw http_refusal(400, "Idempotency-Key: longer than 256 characters");
    {
      const cofferdam::detail::request_body body = co_await sandbox_registry::read_body(core_, call_, owner_);
      object = json_object_of(body.text());
      if (!key.empty()) digest = cofferdam::detail::sha256_of((is_v2 ? "2 " : "1 ") + std::string(body.text()));
    }
    std::optional<repeated_creations::turn> turn;
    if (!key.empty()) {
      const repeated_creations::name name(owner_, key);
      const std::function<bool(const std::string&)> is_open = [this](const std::string& id) {
        return core_->sandboxes().contains(id);
      };
      const std::string earlier = co_await repeated_creations::find(core_->creations(), name, digest, is_open);
      if (!earlier.empty()) co_return json_reply(201, sandbox_object(*core_->find(earlier, owner_)));
      turn.emplace(core_->creations(), name);
    }
    const sandbox_registry::sandbox_pointer sandbox = co_await create_new(std::move(object), is_v2);
    if (turn) turn->created(sandbox->settings().id);
    co_return json_reply(201, sandbox_object(*sandbox));
  }

  awaitable<sandbox_registry::sandbox_pointer> create_new(boost::json::object object, bool is_v2) {
    const api_fields fields(object);
    sandbox_settings settings;
    const std::optional<std::string> asked = fields.text("templateID");
    if (!asked)
      throw http_refusal(
          400, "validation error: request body has an error: doesn't match schema: property \"templateID\" is missing");
    environment_opener opener;
    if (const saved_snapshot* const snapshot = core_->snapshots().find(*asked, owner_)) {
      opener = opener_of(*snapshot);
      settings.template_name = snapshot->template_name;
    } else {
      settings.template_name = template_of(*asked);
      if (const environment_opener* const own = core_->find_template(settings.template_name)) opener = *own;
    }
    const std::int64_t usual = is_v2 ? 300 : 15;
    settings.life = checked_life(fields.number("timeout").value_or(usual));
    settings.is_private = is_off(object_at(object, "network"), "allowPublicTraffic");
    add_tokens(settings, is_v2 || fields.boolean("secure").value_or(false));
    settings.metadata = fields.strings("metadata");
    settings.variables = fields.strings("envVars");
    for (const auto& [name, value] : settings.variables) static_cast<void>(command().variable(name, value));
    check_size("metadata", settings.metadata);
    check_size("envVars", settings.variables);
    const requested_lifecycle lifecycle(object);
    settings.pauses_at_end = lifecycle.pauses();
    settings.resumes_on_request = lifecycle.resumes();
    settings.owner = owner_;
    refuse_missing_features(object, core_->options());
    sandbox_registry::sandbox_pointer sandbox = co_await open(std::move(settings), std::move(opener));
    co_return sandbox;
  }

  /// Opens a sandbox. If its provider fails, passes the reason to the operator of the gateway.
  /// \throws http_refusal 500 with the class of the reason, if the provider fails. The client does not get the reason
  ///     itself, which may name files and addresses of the host.
  awaitable<sandbox_registry::sandbox_pointer> open(sandbox_settings settings, environment_opener opener) {
    sandbox_registry::sandbox_pointer sandbox;
    std::optional<error> failure;
    try {
      sandbox = co_await sandbox_registry::create(core_, std::move(settings), std::move(opener));
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      failure = reason;
      if (const auto& report = core_->options().server().on_error()) report(call_.head(), std::current_exception());
    }
    if (failure) throw http_refusal(500, opening_failure(*failure));
    co_return sandbox;
  }

  /// Gives a new sandbox the tokens of its own that clients must send.
  void add_tokens(sandbox_settings& settings, bool is_secured) const {
    settings.token.reset();
    settings.traffic_token.reset();
    if (is_secured) settings.token = cofferdam::detail::random_token();
    if ((is_secured && !core_->options().ports().empty()) || settings.is_private)
      settings.traffic_token = cofferdam::detail::random_token();
  }

  // ---- snapshots and forks ----
  /// Returns the opener of environments with the files of a snapshot.
  /// \throws http_refusal 501 if the gateway has no provider for them.
  environment_opener opener_of(const saved_snapshot& snapshot) const {
    const snapshot_provider& factory = core_->options().snapshots();
    if (!factory) throw no_provider();
    return [provider = factory(snapshot.id)] { return open_environment<any_provider>(provider); };
  }
  static http_refusal no_provider() {
    return {501,
            "snapshots: this gateway has no provider that opens a snapshot, which a C++ program sets with "
            "e2b_gateway::options::snapshots; create a new sandbox and upload the files"};
  }

  [[noreturn]] void refuse_to_delete(const std::string& name) const {
    if (core_->snapshots().find(name, owner_) == nullptr)
      throw http_refusal(404, "template '" + one_line(name.substr(0, 128)) + "' not found");
    throw http_refusal(501, "snapshots: this gateway cannot delete a snapshot; delete it where the sandboxes run");
  }

  awaitable<saved_snapshot> take_snapshot(sandbox_registry::sandbox_pointer sandbox, std::string what,
                                          std::string name) {
    if (!sandbox->can_save())
      throw http_refusal(501, what +
                                  ": the backend of this gateway cannot save a sandbox; create a new sandbox, and "
                                  "download and upload the files");
    core_->snapshots().check_room();
    saved_snapshot taken;
    taken.id = co_await sandbox->environment().snapshot();
    taken.name = std::move(name);
    taken.sandbox = sandbox->settings().id;
    taken.template_name = sandbox->settings().template_name;
    taken.owner = owner_;
    core_->snapshots().add(taken);
    co_return taken;
  }

  awaitable<http_reply> fork(sandbox_registry::sandbox_pointer sandbox, const boost::json::object& object) {
    const api_fields fields(object);
    const std::int64_t count = fields.number("count").value_or(1);
    if (count < 1 || count > 100)
      throw http_refusal(400, "validation error: \"count\" must be an integer from 1 to 100");
    const std::chrono::seconds life = checked_life(fields.number("timeout").value_or(300));
    if (sandbox->can_save() && !core_->options().snapshots()) throw no_provider();
    const saved_snapshot taken = co_await take_snapshot(sandbox, "fork", "");
    boost::json::array answer;
    for (std::int64_t i = 0; i < count; ++i) {
      sandbox_settings settings = sandbox->settings();
      settings.life = life;
      add_tokens(settings, settings.token.has_value());
      boost::json::object result;
      try {
        const sandbox_registry::sandbox_pointer created = co_await open(std::move(settings), opener_of(taken));
        result["sandbox"] = sandbox_object(*created);
      } catch (const http_refusal& refusal) {
        result["error"] = error_object(refusal.status(), refusal.what());
      }
      answer.push_back(std::move(result));
    }
    co_return json_reply(201, answer);
  }

  std::string template_of(std::string name) const {
    for (char& c : name) c = cofferdam::detail::lowered(c);
    const std::string plain = name.substr(0, name.find(':'));
    const std::vector<std::string>& known = core_->options().templates();
    const bool is_known = core_->find_template(plain) != nullptr ||
                          std::any_of(known.begin(), known.end(),
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
    const boost::json::object object = co_await read();
    const api_fields fields(object);
    if (what == "network") {
      // A change that the environment fulfils already is accepted.
      check_network(object, is_off(object, "allow_internet_access") || is_off(object, "allowInternetAccess"),
                    core_->options());
      co_return http_reply(204);
    }
    if (what == "snapshots") {
      const saved_snapshot taken = co_await take_snapshot(sandbox, what, fields.text("name").value_or(std::string()));
      co_return json_reply(201, snapshot_list::describe(taken));
    }
    if (what == "fork") {
      http_reply forked = co_await fork(sandbox, object);
      co_return forked;
    }
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
      if (!sandbox->can_pause()) co_return cannot_pause(*sandbox);
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

  /// Returns the reply if nothing can pause a sandbox. E2B's clients take status 409 as the answer that nothing was
  /// paused, and not as a failure. This library's client throws an error because of the `error_code`.
  static http_reply cannot_pause(const served_sandbox& sandbox) {
    boost::json::object object =
        error_object(409, "Error pausing sandbox - the backend of this gateway cannot be paused; sandbox '" +
                              sandbox.settings().id + "' keeps running");
    object["error_code"] = "unsupported";
    return json_reply(409, object);
  }

  static void prolong(served_sandbox& sandbox, std::chrono::seconds life) {
    if (sandbox.is_kept() || sandbox.rest() < life) sandbox.live(life);
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
