// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/backends/kubernetes/detail/sandbox_settings.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

/// Returns the options of a control pod, by those of the pod whose network it is compared with. It lives for a short
/// time, and runs small programs only.
inline pod_options control_options(const sandbox_settings& settings) {
  constexpr std::uint64_t memory = std::uint64_t{128} << 20U;
  pod_options options = settings.options;
  const auto life = std::chrono::ceil<std::chrono::seconds>(settings.open_timeout) + std::chrono::minutes(2);
  options.longest_life(std::min(options.longest_life(), life));
  options.memory(std::min(options.memory(), memory));
  if (options.cpu_thousandths() > 100) options.cpus(0.1);
  return options;
}

/// Makes the pod of a request a control pod: the NetworkPolicy of this library does not select it, and it runs on the
/// node of the other pod.
/// \param gpus  the name of the resource for GPUs, of which the control needs none.
inline boost::json::object control_body(boost::json::object body, std::string_view node, std::string_view gpus) {
  body["metadata"].as_object()["labels"].as_object()[network_label] = "control";
  boost::json::object field;
  field["key"] = "metadata.name";
  field["operator"] = "In";
  boost::json::array nodes;
  nodes.push_back(json_text(node));
  field["values"] = std::move(nodes);
  boost::json::array fields;
  fields.push_back(std::move(field));
  boost::json::object term;
  term["matchFields"] = std::move(fields);
  boost::json::array terms;
  terms.push_back(std::move(term));
  boost::json::object selector;
  selector["nodeSelectorTerms"] = std::move(terms);
  boost::json::object affinity;
  affinity["requiredDuringSchedulingIgnoredDuringExecution"] = std::move(selector);
  boost::json::object affinities;  // those of a merge patch could keep the two pods apart
  affinities["nodeAffinity"] = std::move(affinity);
  boost::json::object& spec = body["spec"].as_object();
  spec["affinity"] = std::move(affinities);
  spec.erase("topologySpreadConstraints");
  for (boost::json::value& container : spec["containers"].as_array()) {
    // A container of a merge patch may have no amounts.
    boost::json::value* const amounts = container.as_object().if_contains("resources");
    for (const char* const kind : {"limits", "requests"}) {
      boost::json::value* const of_kind =
          amounts != nullptr && amounts->is_object() ? amounts->get_object().if_contains(kind) : nullptr;
      if (of_kind != nullptr && of_kind->is_object()) of_kind->get_object().erase(json_view(gpus));
    }
  }
  return body;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
