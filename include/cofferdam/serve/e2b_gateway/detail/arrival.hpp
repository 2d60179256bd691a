// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/detail/core/in_time.hpp>
#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/serve/detail/request_body.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

using memory_budget = cofferdam::detail::request_memory<cofferdam::detail::sha256_digest>;

/// Awaits the reading of a request's body, up to a time limit.
/// \throws http_refusal 408 if the time limit is exceeded; the exceptions of `reading`.
inline awaitable<void> in_time(asio::any_io_executor executor, std::chrono::milliseconds time,
                               awaitable<void> reading) {
  const bool is_in_time = co_await cofferdam::detail::arrived_in_time(std::move(executor), time, std::move(reading));
  if (!is_in_time) throw http_refusal(408, "The request did not arrive within the time limit");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
