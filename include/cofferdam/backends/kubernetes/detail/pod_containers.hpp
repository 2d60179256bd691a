// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Returns the container that kubectl would use, too: the one that an annotation names, or the first one.
inline std::string default_container(const boost::json::object& pod) {
  using cofferdam::detail::object_at;
  using cofferdam::detail::text_at;
  const std::string_view named =
      text_at(object_at(object_at(pod, "metadata"), "annotations"), "kubectl.kubernetes.io/default-container");
  const boost::json::array* const containers = cofferdam::detail::array_at(object_at(pod, "spec"), "containers");
  if (containers == nullptr || containers->empty()) return {};
  for (const boost::json::value& each : *containers)
    if (!named.empty() && text_at(each.if_object(), "name") == named) return std::string(named);
  return std::string(text_at(containers->front().if_object(), "name"));
}

/// Returns the status of a container; null if it is not known.
inline const boost::json::object* container_status(const boost::json::object& pod, std::string_view container) {
  const boost::json::array* const containers =
      cofferdam::detail::array_at(cofferdam::detail::object_at(pod, "status"), "containerStatuses");
  if (containers == nullptr) return nullptr;
  for (const boost::json::value& each : *containers)
    if (cofferdam::detail::text_at(each.if_object(), "name") == container) return each.if_object();
  return nullptr;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
