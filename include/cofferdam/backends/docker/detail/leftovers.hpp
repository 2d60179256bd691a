// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/detail/api_error.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/host_link.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Removes the containers that dead processes of this host have left behind. They are recognized by their label, never
/// by their name alone.
/// \return  the number of removed containers.
inline awaitable<int> sweep(std::shared_ptr<engine> api, owner here) {
  static const std::vector<int> gone{404, 409};
  boost::json::object filters;
  boost::json::array labels;
  labels.push_back(json_text(owner_label_key));
  filters["label"] = std::move(labels);
  http_request what = api->request(
      "GET", "/containers/json?all=1&filters=" + cofferdam::detail::percent_encoded(boost::json::serialize(filters)));
  const api_call doing = api->call("list the containers");
  http_response answer = co_await api->ask(std::move(what), doing);
  std::error_code failure;
  const boost::json::value listed = cofferdam::detail::parse_untrusted_json(answer.text(), failure);
  int removed = 0;
  const boost::json::array* const containers = failure ? nullptr : listed.if_array();
  if (containers == nullptr)
    throw error(exec_errc::provider_failed, doing.failed() + ": the daemon's answer is not a list");
  for (const boost::json::value& each : *containers) {
    const boost::json::object* const container = each.if_object();
    if (container == nullptr) continue;
    const boost::json::object* const its_labels = object_at(*container, "Labels");
    const boost::json::array* const names = array_at(*container, "Names");
    if (its_labels == nullptr || names == nullptr || names->empty() || !names->front().is_string()) continue;
    const boost::json::string& first = names->front().get_string();
    std::string_view name(first.data(), first.size());
    if (name.starts_with('/')) name.remove_prefix(1);
    if (!is_left_over(text_at(*its_labels, owner_label_key), name, here)) continue;
    http_request drop = api->request(
        "DELETE", "/containers/" + cofferdam::detail::percent_encoded(text_at(*container, "Id")) + "?force=1&v=1");
    try {
      co_await api->ask(std::move(drop), api->call("remove the container", std::string(name)), gone);
      ++removed;
    } catch (const error& reason) {  // if the daemon refuses to remove one container, the others are still removed
      if (reason.cause().category() != docker::detail::http_status_category()) throw;
    }
  }
  co_return removed;
}

/// Removes containers and folders that dead processes of this host have left behind. Does so only at the first use of a
/// daemon in this process. A forked process counts as a new process.
inline awaitable<void> sweep_once(std::shared_ptr<engine> api, owner here) {
  static std::mutex mutex;
  static std::set<std::pair<std::int64_t, std::string>> swept;
  {
    const std::lock_guard lock(mutex);
    if (!swept.emplace(here.pid(), api->address()).second) co_return;
  }
  const std::int64_t me = here.pid();
  host_link::sweep(here);
  try {
    co_await sweep(api, std::move(here));
  } catch (const error& failure) {
    {
      const std::lock_guard lock(mutex);
      swept.erase({me, api->address()});  // the next call repeats the attempt
    }
    // Failures other than a cancellation are ignored, because an environment can be opened nevertheless. If the daemon
    // cannot be reached any more, the next call to it reports that.
    if (failure.code() == exec_errc::cancelled) throw;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
