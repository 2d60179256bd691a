// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Finds out why the connection to a pod is lost. The status of a pod may be late, so this waits a moment for it.
/// \param explain  called with the pod, or with no value if it does not exist; returns the reason, or no value if the
///                 pod shows none so far.
/// \return  no value if the cluster knows no reason.
template <class Explain>
awaitable<std::optional<error>> find_loss_reason(std::shared_ptr<cluster_api> api, std::string name, Explain explain) {
  constexpr int looks = 15;  // the node reports the status once a second
  for (int look = 0; look < looks; ++look) {
    if (look > 0) co_await wait_for(std::chrono::milliseconds(200));
    std::optional<boost::json::object> pod;
    bool is_asked = false;
    try {
      pod = co_await api->find(api->pod_path(name), "look at " + api->shown(name));
      is_asked = true;
    } catch (const error&) {  // the loss of the stream is reported instead
    }
    if (!is_asked) co_return std::nullopt;
    std::optional<error> reason = explain(pod);
    if (reason) co_return reason;
  }
  co_return std::nullopt;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
