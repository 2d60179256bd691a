// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_run.hpp>
#include <cofferdam/serve/e2b_gateway/detail/interpreter_service.hpp>
#include <cofferdam/serve/e2b_gateway/port_service.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace cofferdam::inline v0 {

/// E2B's code interpreter for an `e2b_gateway`, over our Python runner: what `@e2b/code-interpreter` and
/// `e2b_code_interpreter` talk to.
///
///     e2b_gateway_options().port(e2b_code_interpreter::usual_port, e2b_code_interpreter())
///
/// Each sandbox has one runner, started in its environment at the first execution and closed with it. Contexts are the
/// runner's: what code has defined stays, one execution at a time in each; others wait. Without a context's id code runs
/// in the sandbox's usual one. Output and displays are told while the code runs: of each output half of what `output`
/// allows, and the rest at the end. A client that goes away has its code interrupted, and waits in no queue any more.
///
/// Python only: other languages are refused as E2B refuses those it does not know. Charts' own data (`chart`) and tables'
/// (`data`) are told where the code shows them itself under E2B's mime types.
///
/// \par Errors    an environment without Python: 500; one that cannot `start` commands: 501. Limits: 413, 429, 503.
/// \par Security  contexts of a sandbox are no walls between each other: see `python`. Where a sandbox is secured, its
///                access token or its traffic token is demanded.
/// \par Lifetime  copies are one and the same: they share `memory`.
/// \par Threads   the gateway's executor. \par Source  E2B's code interpreter SDK. \par Example  examples/e2b_gateway.cpp
class e2b_code_interpreter {
 public:
  /// The port that E2B's clients look for it on.
  static constexpr std::uint16_t usual_port = 49999;

  /// \param runner  which interpreter, with what preloaded, under which limits: `python().preload("numpy")`. Its time
  ///                limit, its work directory and what it looks at files for are not used.
  explicit e2b_code_interpreter(python runner = python()) { settings_->runner = std::move(runner); }

  /// Contexts of a sandbox, the usual one included: 429. 16 as it is made.
  e2b_code_interpreter&& contexts(std::size_t most) && { return limit(&detail::interpreter_settings::contexts, most); }
  /// Executions of a sandbox that run, or wait for their turn, and contexts that are being made: 429. 64 as it is made.
  e2b_code_interpreter&& executions(std::size_t most) && { return limit(&detail::interpreter_settings::runs, most); }
  /// Bytes of one request, code and all: 413. 4 MiB as it is made.
  e2b_code_interpreter&& request(std::size_t most) && { return limit(&detail::interpreter_settings::request, most); }
  /// How long one may take to arrive: 408. One minute as it is made; at least 10 ms.
  e2b_code_interpreter&& request_time(std::chrono::milliseconds most) && {
    return time(&detail::interpreter_settings::request_time, "the request time", most);
  }
  /// Bytes of each output of an execution that are told: of more the first and last half. 4 MiB as it is made.
  e2b_code_interpreter&& output(std::size_t most) && { return limit(&detail::interpreter_settings::output, most); }
  /// Bytes of all results of an execution, as they are told. 16 MiB as it is made.
  e2b_code_interpreter&& results(std::size_t most) && { return limit(&detail::interpreter_settings::results, most); }
  /// Bytes that are held for all clients of all sandboxes: requests (503), and what they have not taken yet (left out,
  /// and the client is told so). One sandbox has a quarter of it, but room for one request. 256 MiB as it is made.
  e2b_code_interpreter&& memory(std::size_t most) && {
    auto changed = copy();
    changed->memory = std::make_shared<detail::interpreter_memory>(most);
    return with(std::move(changed));
  }
  /// How long a client hears nothing, at most. 5 seconds as it is made; at least 10 ms.
  e2b_code_interpreter&& keepalive(std::chrono::milliseconds most) && {
    return time(&detail::interpreter_settings::keepalive, "keepalive", most);
  }

  /// An `e2b_port_factory`.
  std::unique_ptr<e2b_port_service> operator()(any_environment& environment, const e2b_sandbox_facts& facts) const {
    return std::make_unique<detail::interpreter_service>(environment, facts, settings_);
  }

 private:
  std::shared_ptr<detail::interpreter_settings> copy() const {
    return std::make_shared<detail::interpreter_settings>(*settings_);
  }
  e2b_code_interpreter&& with(std::shared_ptr<detail::interpreter_settings> changed) {
    settings_ = std::move(changed);
    return std::move(*this);
  }
  e2b_code_interpreter&& limit(std::size_t detail::interpreter_settings::*which, std::size_t most) {
    if (most == 0) throw error(errc::invalid_argument, "e2b_code_interpreter: a limit is at least 1");
    auto changed = copy();
    (*changed).*which = most;
    return with(std::move(changed));
  }
  e2b_code_interpreter&& time(std::chrono::milliseconds detail::interpreter_settings::*which, const char* name,
                              std::chrono::milliseconds most) {
    if (most < std::chrono::milliseconds(10) || most > std::chrono::hours(1))
      throw error(errc::invalid_argument, "e2b_code_interpreter: " + std::string(name) + " is 10 ms to an hour");
    auto changed = copy();
    (*changed).*which = most;
    return with(std::move(changed));
  }

  std::shared_ptr<detail::interpreter_settings> settings_ = std::make_shared<detail::interpreter_settings>();
};

}  // namespace cofferdam::inline v0
