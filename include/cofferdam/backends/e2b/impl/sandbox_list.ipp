// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/detail/api.hpp>
#include <cofferdam/backends/e2b/sandbox_filter.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>

#include <asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL sandbox_list::sandbox_list(const account_options& who, const surroundings& around)
    : who_(detail::account::resolve(who, around)) {}

COFFERDAM_DECL awaitable<void> sandbox_list::set_lifetime(std::string id, std::chrono::milliseconds time) const {
  return prolong(who_, std::move(id), std::chrono::ceil<std::chrono::seconds>(time).count());
}

COFFERDAM_DECL awaitable<std::unique_ptr<detail::api>> sandbox_list::reach(detail::account who) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_return std::make_unique<detail::api>(std::move(executor), std::move(who));
}

COFFERDAM_DECL awaitable<std::vector<sandbox_info>> sandbox_list::list(detail::account who, sandbox_filter filter) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  std::vector<sandbox_info> found = co_await service->list(std::move(filter));
  co_return found;
}

COFFERDAM_DECL awaitable<sandbox_info> sandbox_list::look_at(detail::account who, std::string id) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  sandbox_info found = co_await service->look(std::move(id));
  co_return found;
}

COFFERDAM_DECL awaitable<bool> sandbox_list::end(detail::account who, std::string id) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  const bool was_there = co_await service->kill(std::move(id));
  co_return was_there;
}

COFFERDAM_DECL awaitable<bool> sandbox_list::pause_it(detail::account who, std::string id, pause_options options) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  const bool did = co_await service->pause(std::move(id), options);
  co_return did;
}

COFFERDAM_DECL awaitable<void> sandbox_list::prolong(detail::account who, std::string id, std::int64_t seconds) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  co_await service->set_lifetime(std::move(id), seconds);
}

COFFERDAM_DECL awaitable<std::vector<sandbox_metrics>> sandbox_list::measure(detail::account who, std::string id,
                                                                             std::optional<std::int64_t> from,
                                                                             std::optional<std::int64_t> to) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  std::vector<sandbox_metrics> found = co_await service->metrics(std::move(id), from, to);
  co_return found;
}

COFFERDAM_DECL awaitable<std::vector<sandbox_log_line>> sandbox_list::read_logs(detail::account who, std::string id) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  std::vector<sandbox_log_line> found = co_await service->logs(std::move(id));
  co_return found;
}

COFFERDAM_DECL awaitable<std::vector<snapshot_info>> sandbox_list::list_snapshots(detail::account who,
                                                                                  std::string sandbox_id) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  std::vector<snapshot_info> found = co_await service->snapshots(std::move(sandbox_id));
  co_return found;
}

COFFERDAM_DECL awaitable<bool> sandbox_list::remove_snapshot(detail::account who, std::string id) {
  const std::unique_ptr<detail::api> service = co_await reach(std::move(who));
  const bool was_there = co_await service->delete_snapshot(std::move(id));
  co_return was_there;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
