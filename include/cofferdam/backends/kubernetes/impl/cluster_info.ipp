// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/backends/kubernetes/cluster_choice.hpp>
#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/backends/kubernetes/detail/api_client.hpp>
#include <cofferdam/backends/kubernetes/detail/cluster_access.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/net/http_message.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>

#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes {

COFFERDAM_DECL awaitable<cluster_info> examine_cluster(cluster_choice choice) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  detail::cluster_access access = detail::find_cluster(detail::kube_surroundings::of_this_process(), choice);
  detail::api_client client(executor, std::move(access));
  const http_response answer = co_await client.request(client.make("GET", "/version"));
  co_await client.close();
  const std::string who = "kubernetes: " + client.access().url();
  if (!answer.ok())
    throw error(exec_errc::provider_failed, who + " refuses to tell its version: " + std::to_string(answer.status()) +
                                                " " + detail::status_message(answer) +
                                                "; check the user of the context \"" +
                                                one_line(client.access().context, 100) + "\"");
  const boost::json::object version =
      cofferdam::detail::parse_object(answer.text(), exec_errc::provider_failed, who + ": the answer to GET /version");
  co_return cluster_info(client.access().context, client.access().url(), client.access().namespace_name,
                         one_line(cofferdam::detail::text_at(version, "gitVersion"), 60));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes
