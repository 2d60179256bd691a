// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/sandbox.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <chrono>
#include <memory>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Returns the settings of the warden in a sandbox's pod.
inline warden_settings warden_settings_for(const std::shared_ptr<sandbox>& in, const sandbox_settings& settings) {
  warden_settings result;
  result.commands = settings.commands;
  result.greeting_timeout = std::chrono::seconds(30);
  result.lease = sandbox::max_silence;
  result.heartbeat = sandbox::beat;
  // a weak pointer, because the sandbox owns the session, and the session owns these settings
  result.silent = [kept = std::weak_ptr<sandbox>(in)] {
    if (const std::shared_ptr<sandbox> self = kept.lock()) self->on_silent_warden();
  };
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
