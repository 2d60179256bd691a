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

/// Returns the object in an array whose member `key` is `text`; null if there is none.
inline const boost::json::object* element_with(const boost::json::array* array, std::string_view key,
                                               std::string_view text) {
  if (array == nullptr) return nullptr;
  for (const boost::json::value& each : *array)
    if (cofferdam::detail::text_at(each.if_object(), key) == text) return each.if_object();
  return nullptr;
}

/// Returns a condition in a status, such as "Ready"; null if there is none. Each type has at most one condition.
inline const boost::json::object* condition_of(const boost::json::object* status, std::string_view type) {
  return element_with(cofferdam::detail::array_at(status, "conditions"), "type", type);
}

/// Returns the reason and the message of a status or condition as one text.
inline std::string reason_and_message(std::string_view reason, std::string_view message) {
  std::string words(reason);
  if (!words.empty() && !message.empty()) words += ": ";
  return words.append(message);
}

/// Returns the container that kubectl would use, too: the one that an annotation names, or the first one.
inline std::string default_container(const boost::json::object& pod) {
  using cofferdam::detail::object_at;
  using cofferdam::detail::text_at;
  const std::string_view named =
      text_at(object_at(object_at(pod, "metadata"), "annotations"), "kubectl.kubernetes.io/default-container");
  const boost::json::array* const containers = cofferdam::detail::array_at(object_at(pod, "spec"), "containers");
  if (containers == nullptr || containers->empty()) return {};
  if (!named.empty() && element_with(containers, "name", named) != nullptr) return std::string(named);
  return std::string(text_at(containers->front().if_object(), "name"));
}

/// Returns the status of a container; null if it is not known.
inline const boost::json::object* container_status(const boost::json::object& pod, std::string_view container) {
  const boost::json::object* const status = cofferdam::detail::object_at(pod, "status");
  return element_with(cofferdam::detail::array_at(status, "containerStatuses"), "name", container);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
