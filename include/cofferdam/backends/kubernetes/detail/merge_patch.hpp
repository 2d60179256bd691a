// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Changes a JSON value by a JSON merge patch. An object in the patch changes single members, `null` removes a member,
/// and every other value, arrays included, replaces the old value as a whole.
/// \par Source  RFC 7386, section 2.
inline void apply_merge_patch(boost::json::value& target, const boost::json::value& patch) {
  const boost::json::object* const changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = boost::json::object();
  boost::json::object& members = target.get_object();
  for (const auto& [key, change] : *changes) {
    if (change.is_null())
      members.erase(key);
    else
      apply_merge_patch(members[key], change);
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
