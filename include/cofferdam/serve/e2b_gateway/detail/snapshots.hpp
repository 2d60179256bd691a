// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/sha256.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/asked_page.hpp>
#include <cofferdam/serve/e2b_gateway/detail/paths.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// A saved copy of the files of a sandbox.
struct saved_snapshot {
  std::string id;    ///< the name that the environment has given
  std::string name;  ///< the name that the client has chosen; may be empty
  std::string sandbox;
  std::string template_name;
  cofferdam::detail::sha256_digest owner{};
};

/// The snapshots that were taken since the gateway was started, oldest first.
class snapshot_list {
 public:
  /// The maximum number of snapshots of all owners. Each of them uses disk space of the backend.
  static constexpr std::size_t max_snapshots = 1000;

  /// Throws http_refusal 429 if there are too many snapshots for another one.
  void check_room() const {
    if (all_.size() >= max_snapshots)
      throw http_refusal(429, "snapshots: this gateway has taken " + std::to_string(max_snapshots) +
                                  " snapshots, its maximum; start it again to forget them");
  }
  void add(saved_snapshot taken) { all_.push_back(std::move(taken)); }

  /// Returns a snapshot by its id or its chosen name; null if the owner has none. The newest one wins.
  const saved_snapshot* find(std::string_view name, const cofferdam::detail::sha256_digest& owner) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [&](const saved_snapshot& snapshot) {
      return snapshot.owner == owner && (snapshot.id == name || (!snapshot.name.empty() && snapshot.name == name));
    });
    return found == all_.rend() ? nullptr : &*found;
  }

  /// Describes a snapshot as the object `SnapshotInfo` of E2B's API.
  static boost::json::object describe(const saved_snapshot& snapshot) {
    boost::json::array names;
    if (!snapshot.name.empty()) names.emplace_back(valid_json_text(snapshot.name));
    boost::json::object object;
    object["snapshotID"] = valid_json_text(snapshot.id);
    object["names"] = std::move(names);
    return object;
  }

  /// Makes the answer to a request for the list of snapshots: newest first, in pages.
  http_reply page(const query_fields& query, const cofferdam::detail::sha256_digest& owner) const {
    const asked_page asked(query);
    if (asked.token && *asked.token > all_.size()) throw invalid_page_token();
    const std::size_t end = asked.token.value_or(all_.size());
    const std::string_view sandbox = query.value("sandboxID");
    const std::string_view name = query.value("name");
    boost::json::array listed;
    std::optional<std::size_t> next;
    for (std::size_t i = end; i-- != 0 && !next;) {
      const saved_snapshot& snapshot = all_[i];
      const bool is_wanted = snapshot.owner == owner && (sandbox.empty() || snapshot.sandbox == sandbox) &&
                             (name.empty() || snapshot.name == name || snapshot.id == name);
      if (!is_wanted) continue;
      if (listed.size() == asked.limit) {
        next = i + 1;
      } else {
        listed.push_back(describe(snapshot));
      }
    }
    http_reply reply = json_reply(200, listed);
    if (next) reply.field("X-Next-Token", std::to_string(*next));
    return reply;
  }

 private:
  std::vector<saved_snapshot> all_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
