// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/net/http_call.hpp>
#include <cofferdam/net/http_reply.hpp>
#include <cofferdam/serve/detail/preflight.hpp>
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/control_plane.hpp>
#include <cofferdam/serve/e2b_gateway/detail/core.hpp>
#include <cofferdam/serve/e2b_gateway/detail/files_endpoint.hpp>
#include <cofferdam/serve/e2b_gateway/detail/filesystem_service.hpp>
#include <cofferdam/serve/e2b_gateway/detail/process_service.hpp>
#include <cofferdam/serve/e2b_gateway/detail/rpc.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The entry point for all requests. It routes each request, and converts failures to replies.
class dispatcher {
 public:
  static constexpr std::uint16_t envd_port = 49983;

  static awaitable<void> handle(std::shared_ptr<sandbox_registry> core, http_call& call) {
    const request_route route = core->router().find(call.head());
    using target = request_route::target;
    // The servers of the guest share their replies themselves. A preflight has no fields that name a sandbox, so behind
    // a URL without its name the gateway replies to it.
    if (route.where() != target::sandbox || !belongs_to_guest(*core, route.port())) {
      if (std::optional<http_reply> allowed =
              cofferdam::detail::preflight_reply(call, core->options().server().origins())) {
        co_await call.reply(std::move(*allowed));
        co_return;
      }
    }
    switch (route.where()) {
      case target::api: co_await serve_api(core, call); break;
      case target::sandbox: co_await serve_sandbox(core, call, route.id(), route.port()); break;
      case target::signed_file: co_await serve_signed(core, call); break;
      case target::wrong_host: co_await call.reply(wrong_host()); break;
      case target::one_header: co_await call.reply(text_reply(400, "missing header")); break;
      case target::bad_host: co_await call.reply(text_reply(400, "Invalid host")); break;
      case target::bad_id: co_await call.reply(text_reply(400, "Invalid sandbox ID")); break;
      case target::bad_port:
        co_await call.reply(text_reply(400, "Unexpected error when routing request: invalid sandbox port"));
        break;
    }
  }

 private:
  /// Returns true if a port of a sandbox belongs to the servers of the guest, and not to the gateway.
  static bool belongs_to_guest(const sandbox_registry& core, std::uint16_t port) {
    return port != envd_port && !core.options().ports().contains(port);
  }

  static http_reply wrong_host() {
    return text_reply(421, "this gateway does not serve this host name; see e2b_gateway::options::domain\n");
  }

  /// Returns the reply for a failure that happened before any reply was sent. Returns no value for a failure of the
  /// connection, which the HTTP server handles itself.
  static std::optional<http_reply> api_reply(const error& failure) {
    if (is_connection_failure(failure)) return std::nullopt;
    if (cofferdam::detail::is_environment_gone(failure)) return error_reply(404, "The sandbox has ended");
    // To clients of the API, 404 means that the sandbox does not exist, and 409 that it is in the wanted state already.
    int status = http_status_of(failure);
    if (status == 404 || status == 409) status = 500;
    if (is_of_request(failure)) return error_reply(status, failure.what());
    return error_reply(status, "The sandbox could not be changed");
  }

  static awaitable<void> serve_api(std::shared_ptr<sandbox_registry> core, http_call& call) {
    std::optional<http_reply> reply;
    std::exception_ptr told;
    try {
      http_reply answered = co_await control_plane::answer(control_plane(core, call));
      reply = std::move(answered);
    } catch (const http_refusal& refusal) {
      reply = error_reply(refusal.status(), refusal.what());
    } catch (const error& failure) {
      reply = api_reply(failure);
      if (!reply) throw;
      if (!cofferdam::detail::is_environment_gone(failure) && !is_of_request(failure)) told = std::current_exception();
    }
    co_await call.reply(std::move(*reply));
    // The HTTP server passes this exception to `on_error`. The reply was sent already.
    if (told) std::rethrow_exception(told);
  }

  static http_reply not_found_reply(const std::string& id) {
    boost::json::object object;
    object["sandboxId"] = id;
    object["message"] = "The sandbox was not found";
    object["code"] = 502;
    return json_reply(502, object);
  }
  /// The reply for a provider without `network()`: the gateway does not know whether the port is open.
  static http_reply no_port_reply(const std::string& id, std::uint16_t port) {
    boost::json::object object;
    object["sandboxId"] = id;
    object["message"] =
        "this gateway cannot connect to a port of a sandbox; run the client in the sandbox too, as a command, such as "
        "curl http://127.0.0.1:" +
        std::to_string(port);
    object["port"] = port;
    object["code"] = 501;
    return json_reply(501, object);
  }
  static http_reply locked_reply(const std::string& id) {
    boost::json::object object;
    object["sandboxId"] = id;
    object["message"] =
        "This sandbox can't be resumed with the credentials provided. Check your access token and try again.";
    object["code"] = 403;
    return json_reply(403, object);
  }
  static http_reply unauthorized_reply() {
    return error_reply(401, "unauthorized access, please provide a valid access token or method signing if supported");
  }

  static awaitable<void> serve_signed(std::shared_ptr<sandbox_registry> core, http_call& call) {
    std::shared_ptr<served_sandbox> found;
    for (const auto& [id, sandbox] : core->sandboxes())
      if (sandbox->now() == served_sandbox::state::running && files_endpoint::is_signed_by(*sandbox, call))
        found = sandbox;
    if (!found) {
      co_await call.reply(error_reply(401, "invalid signature"));
      co_return;
    }
    co_await serve_files(core, std::move(found), call);
  }

  static awaitable<void> serve_sandbox(std::shared_ptr<sandbox_registry> core, http_call& call, std::string id,
                                       std::uint16_t port) {
    std::shared_ptr<served_sandbox> sandbox = core->reachable(id);
    if (!sandbox) {
      co_await call.reply(not_found_reply(id));
      co_return;
    }
    const bool is_service = core->options().ports().contains(port);
    const bool is_of_guest = belongs_to_guest(*core, port);
    if (is_of_guest && !sandbox->can_tunnel()) {
      co_await call.reply(no_port_reply(id, port));
      co_return;
    }
    // The services of a secured sandbox (one with an access token) are secured too. E2B's clients send the access token
    // or the traffic token. The ports of the guest's own servers are public, unless the sandbox is private.
    const bool is_secured =
        !may_enter(*sandbox, call) || (sandbox->settings().is_private && !sandbox->settings().token);
    const bool needs_pass = is_service ? is_secured : sandbox->settings().is_private;
    const bool is_refused = port == envd_port ? !may_enter(*sandbox, call) : needs_pass && !may_pass(*sandbox, call);
    if (sandbox->now() == served_sandbox::state::paused) {
      if (is_refused) {
        co_await call.reply(locked_reply(id));
        co_return;
      }
      constexpr std::chrono::seconds least{300};
      co_await served_sandbox::resume(sandbox, std::max(least, sandbox->settings().life));
      sandbox = core->reachable(id);
      if (!sandbox) {
        co_await call.reply(not_found_reply(id));
        co_return;
      }
    }
    if (port != envd_port) {
      if (is_refused) {
        co_await call.reply(unauthorized_reply());
        co_return;
      }
      bool is_served = false;
      try {
        if (is_of_guest)
          is_served = co_await served_sandbox::pass_on(sandbox, port, call);
        else
          is_served = co_await served_sandbox::serve(sandbox, port, call);
      } catch (const error& failure) {
        if (failure.code() != exec_errc::environment_closed || call.replied()) throw;
      }
      if (!is_served) co_await call.reply(not_found_reply(id));
      co_return;
    }
    co_await serve_envd(core, std::move(sandbox), call);
  }

  static bool may_enter(const served_sandbox& sandbox, const http_call& call) {
    const std::optional<std::string>& token = sandbox.settings().token;
    return !token || cofferdam::detail::same_secret(call.field("X-Access-Token").value_or(std::string_view()), *token);
  }

  static bool may_pass(const served_sandbox& sandbox, const http_call& call) {
    const std::optional<std::string>& token = sandbox.settings().traffic_token;
    return token &&
           cofferdam::detail::same_secret(call.field("E2B-Traffic-Access-Token").value_or(std::string_view()), *token);
  }

  static awaitable<void> serve_envd(std::shared_ptr<sandbox_registry> core, std::shared_ptr<served_sandbox> sandbox,
                                    http_call& call) {
    const std::string path(call.path());
    if (path == "/health") {
      http_reply alive(204);
      alive.field("Cache-Control", "no-store").field("Content-Type", "");
      co_await call.reply(std::move(alive));
      co_return;
    }
    if (path == "/files") {
      co_await serve_files(core, std::move(sandbox), call);
      co_return;
    }
    for (const char* const reserved :
         {"/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"}) {
      if (path != reserved) continue;
      boost::json::object object;
      object["message"] =
          "This endpoint is reserved for the E2B control plane and is not reachable through the sandbox URL";
      object["path"] = path;
      object["code"] = 404;
      co_await call.reply(json_reply(404, object));
      co_return;
    }
    if (!may_enter(*sandbox, call)) {
      co_await call.reply(unauthorized_reply());
      co_return;
    }
    if (path == "/envs" && call.method() == "GET") {
      boost::json::object variables;
      variables["E2B_SANDBOX"] = "true";
      variables["E2B_SANDBOX_ID"] = sandbox->settings().id;
      variables["E2B_TEMPLATE_ID"] = sandbox->settings().template_name;
      for (const auto& [name, value] : sandbox->settings().variables)
        variables[valid_json_text(name)] = valid_json_text(value);
      co_await call.reply(json_reply(200, variables));
      co_return;
    }
    if (path == "/metrics" && call.method() == "GET") {
      co_await call.reply(error_reply(501, "the backend of this gateway reports no metrics"));
      co_return;
    }
    constexpr std::string_view processes = "/process.Process/";
    constexpr std::string_view filesystem = "/filesystem.Filesystem/";
    if (path.starts_with(processes)) {
      co_await serve_rpc<process_service>(core, std::move(sandbox), call, path.substr(processes.size()));
    } else if (path.starts_with(filesystem)) {
      co_await serve_rpc<filesystem_service>(core, std::move(sandbox), call, path.substr(filesystem.size()));
    } else {
      co_await call.reply(not_here());
    }
  }
  static http_reply not_here() { return text_reply(404, "404 page not found\n"); }

  static awaitable<void> serve_files(std::shared_ptr<sandbox_registry> core, std::shared_ptr<served_sandbox> sandbox,
                                     http_call& call) {
    std::optional<http_reply> reply;
    std::exception_ptr told;
    const std::string id = sandbox->settings().id;
    try {
      co_await files_endpoint::answer(files_endpoint(core, sandbox, call));
    } catch (const http_refusal& refusal) {
      reply = error_reply(refusal.status(), refusal.what());
    } catch (const error& failure) {
      if (call.replied() || is_connection_failure(failure)) throw;
      const int status = http_status_of(failure);
      if (status == 500) throw;
      if (cofferdam::detail::is_environment_gone(failure)) {
        reply = not_found_reply(id);
      } else if (is_of_request_inside(failure)) {
        reply = error_reply(status, failure.what());
      } else {
        told = std::current_exception();
        reply = error_reply(status, "The files of the sandbox could not be reached");
      }
    }
    if (reply) co_await call.reply(std::move(*reply));
    if (told) std::rethrow_exception(told);
  }

  // ---- calls of the Connect protocol ----
  template <class Service>
  static awaitable<void> serve_rpc(std::shared_ptr<sandbox_registry> core, std::shared_ptr<served_sandbox> sandbox,
                                   http_call& call, std::string method) {
    const bool is_stream = Service::is_stream(method);
    if (!is_stream && !Service::is_unary(method)) {
      co_await call.reply(not_here());
      co_return;
    }
    if (call.method() != "POST") {
      http_reply reply(405);
      reply.field("Allow", "POST");
      co_await call.reply(std::move(reply));
      co_return;
    }
    if (std::optional<http_reply> refused = rpc_call::refused_type(call, is_stream)) {
      co_await call.reply(std::move(*refused));
      co_return;
    }
    rpc_call rpc(std::move(core), std::move(sandbox), call);
    Service service(rpc);
    std::optional<http_reply> late;
    try {
      if (is_stream) {
        co_await serve_stream(rpc, service, std::move(method));
      } else {
        co_await serve_unary(rpc, service, std::move(method));
      }
    } catch (const http_refusal& refusal) {  // the body has not arrived in time
      if (call.replied()) throw;
      late = text_reply(refusal.status(), refusal.what());
    }
    if (late) co_await call.reply(std::move(*late));
  }

  /// Converts an error of this library to a failure for the client. Rethrows it if it is a failure of the connection.
  static cofferdam::detail::connect_failure told(const error& failure) {
    if (is_connection_failure(failure)) throw failure;
    return as_connect_failure(failure);
  }

  template <class Service>
  static awaitable<void> serve_unary(rpc_call& rpc, Service& service, std::string method) {
    std::optional<cofferdam::detail::connect_failure> failed;
    boost::json::object answer;
    try {
      rpc.check_fields();
      co_await rpc.read_unary();
      answer = co_await service.unary(std::move(method));
    } catch (const rpc_failure& failure) {
      failed = failure.failure();
    } catch (const error& failure) {
      failed = told(failure);
    }
    rpc.forget();  // frees memory, because the client may read slowly
    int status = 200;
    std::string text;
    if (failed) {
      status = static_cast<int>(cofferdam::detail::connect_status(failed->code()));
      text = cofferdam::detail::connect_failure_text(*failed);
    } else {
      text = boost::json::serialize(answer);
    }
    http_reply reply(status);
    reply.content("application/json", text).field("Vary", "Origin");
    co_await rpc.call().reply(std::move(reply));
  }

  template <class Service>
  static awaitable<void> serve_stream(rpc_call& rpc, Service& service, std::string method) {
    std::optional<cofferdam::detail::connect_failure> failed;
    try {
      rpc.check_fields();
      co_await service.stream(std::move(method));
    } catch (const rpc_failure& failure) {
      failed = failure.failure();
    } catch (const error& failure) {
      // A stream that has begun breaks off if its sandbox ends, as E2B's does.
      if (rpc.call().replied() && cofferdam::detail::is_environment_gone(failure)) throw;
      failed = told(failure);
    }
    if (!failed) co_return;
    rpc.forget();
    if (rpc.call().replied()) {
      co_await rpc.end_stream(failed->code(), failed->message());
      co_return;
    }
    http_reply reply(200);
    reply
        .content("application/connect+json",
                 cofferdam::detail::connect_end(cofferdam::detail::connect_end_text(*failed)))
        .field("Vary", "Origin");
    co_await rpc.call().reply(std::move(reply));
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
