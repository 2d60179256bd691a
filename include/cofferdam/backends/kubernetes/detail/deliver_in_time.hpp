// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/warden_delivery.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_stream.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/callbacks.hpp>

#include <asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Brings a warden into a pod within a time limit. After this time, the stream is closed, which ends the delivery.
/// \param stream    the stream of the exec that runs the delivery's script.
/// \param delivery  uses `stream`. The caller keeps both until the awaitable completes.
/// \return  the warden's first bytes.
/// \throws the errors of `warden_delivery::run`; error{exec_errc::provider_failed} if the time is over.
inline awaitable<std::string> deliver_in_time(std::shared_ptr<cluster_api> api, exec_stream& stream,
                                              cofferdam::detail::warden_delivery<exec_stream>& delivery,
                                              std::chrono::milliseconds limit) {
  // The timer's handler may run after this coroutine, and then finds a null pointer.
  class deadline {
   public:
    explicit deadline(exec_stream& of) : stream(std::make_shared<exec_stream*>(&of)) {}
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;
    ~deadline() { *stream = nullptr; }
    std::shared_ptr<exec_stream*> stream;
  };
  const auto is_late = std::make_shared<bool>(false);
  const deadline until(stream);
  asio::steady_timer timer(api->executor(), limit);
  cofferdam::detail::on_expiry(timer, [is_late, target = until.stream](std::error_code cancelled) {
    if (cancelled || *target == nullptr) return;
    *is_late = true;
    (*target)->close();
  });
  bool reached = false;
  std::optional<error> failure;
  std::string first;
  try {
    first = co_await delivery.run(reached);
  } catch (const error& reason) {
    failure = reason;
  }
  if (!failure) co_return first;
  if (!*is_late) throw *failure;
  throw error(exec_errc::provider_failed, std::string("kubernetes: the pod did not ") +
                                              (reached ? "take the warden" : "start a shell") + " within " +
                                              std::to_string(limit.count()) + " ms (open_timeout())");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
