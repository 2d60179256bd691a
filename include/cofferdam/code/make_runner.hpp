// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// Chooses the runner by a name at run time. This header includes all runners of the library. If a program always uses
// the same backend, include the header of this backend and `code/python.hpp` instead, which compiles much faster.

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// Options of `make_runner`, for every runner that it can choose. Only the options of the chosen runner are used.
class runner_options {
 public:
  runner_options() = default;

  /// Sets the options of Python: interpreter, packages, limits. All runners except Pyodide, which has its own options,
  /// use them.
  runner_options& python(cofferdam::python settings) {
    python_ = std::move(settings);
    return *this;
  }
  /// Sets the recipe of the environment for `make_runner("host")` and `make_runner("local")`. Default: `local()`, which
  /// warns that it provides no isolation.
  runner_options& host(local recipe) {
    host_ = std::move(recipe);
    return *this;
  }
  /// Sets the recipe of the environment for `make_runner("jail")` and `make_runner("sandbox")`. Default: `jail()`.
  runner_options& jail(cofferdam::jail recipe) {
    jail_ = std::move(recipe);
    return *this;
  }
  /// Sets the recipe of the environment for `make_runner("docker")`. Default: `docker::from_image("python:3.12")`, the
  /// whole image. The default of `make_provider("docker")` is python:3.12-slim.
  runner_options& docker(cofferdam::docker::provider recipe) {
    docker_.emplace(std::move(recipe));
    return *this;
  }
  /// Sets the recipe of the environment for `make_runner("kubernetes")`. Default:
  /// `kubernetes::from_image("python:3.12")`.
  runner_options& kubernetes(cofferdam::kubernetes::provider recipe) {
    kubernetes_.emplace(std::move(recipe));
    return *this;
  }
  /// Sets the recipe of the environment for `make_runner("e2b")`. Default: `e2b::from_template()`.
  runner_options& e2b(cofferdam::e2b::provider recipe) {
    e2b_.emplace(std::move(recipe));
    return *this;
  }
  /// Sets the recipe of the runner for `make_runner("pyodide")`. Default: `pyodide()`.
  runner_options& pyodide(cofferdam::pyodide recipe) {
    pyodide_ = std::move(recipe);
    return *this;
  }

  const cofferdam::python& python() const noexcept { return python_; }
  const local& host() const noexcept { return host_; }
  const cofferdam::jail& jail() const noexcept { return jail_; }
  const cofferdam::pyodide& pyodide() const noexcept { return pyodide_; }
  cofferdam::docker::provider docker() const {
    return docker_ ? *docker_ : cofferdam::docker::from_image("python:3.12");
  }
  cofferdam::kubernetes::provider kubernetes() const {
    return kubernetes_ ? *kubernetes_ : cofferdam::kubernetes::from_image("python:3.12");
  }
  cofferdam::e2b::provider e2b() const { return e2b_ ? *e2b_ : cofferdam::e2b::from_template(); }

 private:
  cofferdam::python python_;
  local host_;
  cofferdam::jail jail_ = cofferdam::jail().alternatives(
      "Or choose another runner: docker, kubernetes, e2b, pyodide, or host, which isolates nothing and is for code "
      "that you "
      "trust.");
  cofferdam::pyodide pyodide_;
  std::optional<cofferdam::docker::provider> docker_;
  std::optional<cofferdam::kubernetes::provider> kubernetes_;
  std::optional<cofferdam::e2b::provider> e2b_;
};

namespace detail {

/// Returns the recipe of a Python runner by its name; see `make_runner`.
any_runner_provider runner_by_name(std::string_view runner_name, runner_options options);

}  // namespace detail

/// Returns the recipe of a Python runner by its name. Guards can be added, and `with` opens the runner:
///
///     auto runner = make_runner(settings.at("run_env")) | check_syntax() | allow_imports("math", "statistics");
///
/// | name | where the code runs |
/// |---|---|
/// | "sandbox", "jail" | this machine, isolated by Linux namespaces and seccomp; bubblewrap must be installed |
/// | "host", "local" | this machine, without isolation |
/// | "docker" | a container of the image python:3.12, unless `runner_options::docker` sets another recipe |
/// | "kubernetes" | a pod of the image python:3.12, unless `runner_options::kubernetes` sets another recipe |
/// | "e2b" | a virtual machine of E2B |
/// | "ssh:HOST" | another machine, as the user of the login, without isolation |
/// | "pyodide" | WebAssembly, in Deno |
///
/// \param name  one of these names, case-sensitive.
/// \param options  the settings of the backends from which the name chooses.
/// \throws      error{exec_errc::invalid_argument} for any other name; its message lists the valid names. A runner that
///              cannot be opened is reported by `open()`, not here.
/// \par Source  kodeagent's `CodeRunner(env=…)`.
template <std::convertible_to<std::string_view> Name>
any_runner_provider make_runner(const Name& name, runner_options options = runner_options()) {
  return detail::runner_by_name(std::string_view(name), std::move(options));
}

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/impl/make_runner.ipp>
#endif
