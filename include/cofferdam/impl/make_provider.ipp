// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker.hpp>
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/backends/over.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/provider_name.hpp>
#include <cofferdam/make_provider.hpp>
#include <cofferdam/sandbox.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL any_provider make_provider(std::string_view name) {
  const provider_name wanted = provider_name::parse(
      name, {"sandbox", "local", "jail", "docker:IMAGE", "kubernetes:IMAGE", "e2b:TEMPLATE", "ssh:HOST"});
  if (wanted.kind() == "local") return any_provider(local());
  if (wanted.kind() == "jail") return any_provider(jail());
  if (wanted.kind() == "docker") return any_provider(docker::from_image(wanted.value_or("python:3.12-slim")));
  if (wanted.kind() == "kubernetes") return any_provider(kubernetes::from_image(wanted.value_or("python:3.12-slim")));
  if (wanted.kind() == "e2b") return any_provider(e2b::from_template(wanted.value_or("base")));
  if (wanted.kind() == "ssh") return any_provider(over_ssh(wanted.value_or("")));
  return any_provider(sandbox());
}

}  // namespace cofferdam::inline COFFERDAM_ABI
