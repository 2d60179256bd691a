// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/net/http_call.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway {

/// The facts about a sandbox for a service on one of its ports.
class sandbox_facts {
 public:
  sandbox_facts(std::string id, std::string template_name, std::string home)
      : id_(std::move(id)), template_(std::move(template_name)), home_(std::move(home)) {}
  const std::string& id() const noexcept { return id_; }
  /// Returns the name of the requested template.
  const std::string& template_name() const noexcept { return template_; }
  /// Returns the absolute path that clients use for the workspace.
  const std::string& home() const noexcept { return home_; }

  /// Sets the workspace's path inside commands; empty if it is not known.
  sandbox_facts& workspace(std::string path) & {
    workspace_ = std::move(path);
    return *this;
  }
  const std::string& workspace() const noexcept { return workspace_; }
  /// Returns the variables of all processes in the sandbox: name, value.
  sandbox_facts& variables(std::vector<std::pair<std::string, std::string>> all) & {
    variables_ = std::move(all);
    return *this;
  }
  const std::vector<std::pair<std::string, std::string>>& variables() const noexcept { return variables_; }

 private:
  std::string id_;
  std::string template_;
  std::string home_;
  std::string workspace_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

/// A service on a further port of a sandbox: E2B's code interpreter on 49999, for example. Each sandbox has its own,
/// made at the first request. The gateway has routed the request and, if the sandbox is secured, checked its token.
/// \par Lifetime  destroyed after `close()`, before its environment is closed.
/// \par Threads   the gateway's executor.
class port_service {
 public:
  port_service() = default;
  port_service(const port_service&) = delete;
  port_service& operator=(const port_service&) = delete;
  virtual ~port_service() = default;

  /// Handles a request, as a handler of `http_server` does. Several may run at a time.
  virtual awaitable<void> serve(http_call& call) = 0;
  /// Ends its processes in the environment. Called after the last `serve` has ended or was cancelled. Cannot be
  /// cancelled itself.
  virtual awaitable<void> close() = 0;
};

/// Makes the service of a sandbox.
/// \param environment  outlives the service.
using port_factory =
    std::function<std::unique_ptr<port_service>(any_environment& environment, const sandbox_facts& facts)>;

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway
