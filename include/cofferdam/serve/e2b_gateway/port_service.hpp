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

namespace cofferdam::inline v0 {

/// What a service on a port of a sandbox may know of it.
class e2b_sandbox_facts {
 public:
  e2b_sandbox_facts(std::string id, std::string template_name, std::string home)
      : id_(std::move(id)), template_(std::move(template_name)), home_(std::move(home)) {}
  const std::string& id() const noexcept { return id_; }
  /// The name it was asked for by.
  const std::string& template_name() const noexcept { return template_; }
  /// The absolute path that stands for the workspace.
  const std::string& home() const noexcept { return home_; }

  /// How commands see the workspace; empty where that is not known.
  e2b_sandbox_facts& workspace(std::string path) & {
    workspace_ = std::move(path);
    return *this;
  }
  const std::string& workspace() const noexcept { return workspace_; }
  /// The variables that all that runs in it has: name, value.
  e2b_sandbox_facts& variables(std::vector<std::pair<std::string, std::string>> all) & {
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

/// What answers on one more port of a sandbox: E2B's code interpreter on 49999, for example. One for each sandbox, made
/// at the first request, which the gateway has routed and, where the sandbox is secured, checked.
/// \par Lifetime  destroyed after `close()`, before its environment is closed.
/// \par Threads   the gateway's executor.
class e2b_port_service {
 public:
  e2b_port_service() = default;
  e2b_port_service(const e2b_port_service&) = delete;
  e2b_port_service& operator=(const e2b_port_service&) = delete;
  virtual ~e2b_port_service() = default;

  /// Answers a request, as an `http_server`'s handler does. Several may run at a time.
  virtual awaitable<void> serve(http_call& call) = 0;
  /// Ends what it runs in the environment. After the last `serve` has ended, or been cancelled. Not cancelled itself.
  virtual awaitable<void> close() = 0;
};

/// Makes the service of a sandbox. \param environment  outlives the service.
using e2b_port_factory =
    std::function<std::unique_ptr<e2b_port_service>(any_environment& environment, const e2b_sandbox_facts& facts)>;

}  // namespace cofferdam::inline v0
