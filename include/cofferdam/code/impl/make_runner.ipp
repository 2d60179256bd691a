// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/over.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/make_runner.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL any_runner_provider runner_by_name(std::string_view runner_name, runner_options options) {
  // All of these environments get the type `any_environment`, so that the Python runner is compiled only once.
  if (runner_name == "sandbox" || runner_name == "jail")
    return any_runner_provider(any_provider(options.jail()) | options.python());
  if (runner_name == "host" || runner_name == "local")
    return any_runner_provider(any_provider(options.host()) | options.python());
  if (runner_name == "docker") return any_runner_provider(any_provider(options.docker()) | options.python());
  if (runner_name == "kubernetes") return any_runner_provider(any_provider(options.kubernetes()) | options.python());
  if (runner_name.starts_with("ssh:"))
    return any_runner_provider(any_provider(over_ssh(std::string(runner_name.substr(4)))) | options.python());
  if (runner_name == "e2b") return any_runner_provider(any_provider(options.e2b()) | options.python());
  if (runner_name == "pyodide") return any_runner_provider(options.pyodide());
  throw error(exec_errc::invalid_argument,
              "make_runner: unknown runner \"" + one_line(runner_name, 60) +
                  "\"; use sandbox (or jail), host (or local), docker, kubernetes, e2b, ssh:HOST or "
                  "pyodide");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
