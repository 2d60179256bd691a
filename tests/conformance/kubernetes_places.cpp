// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/pod_options.hpp>

#include "conformance/places.hpp"
#include "kubernetes/kube_support.hpp"

#include <cstdint>
#include <string>

namespace cofferdam_test {

/// Returns no places if there is no cluster: `./dev test --with all` does not start one, because it takes minutes.
std::vector<place> kubernetes_places() {
  using namespace cofferdam;
  std::vector<place> places;
  if (!has_cluster()) return places;
  const auto add = [&places](const char* name, const char* image, const std::string& without) {
    const auto provider = [image] {
      kubernetes::pod_options options;
      options.kubeconfig(kubeconfig_of("kubeconfig")).pull(kubernetes::pull_policy::never);
      // The scheduler counts what pods reserve, and the node of the tests is small.
      options.cpus(0.2).memory(std::uint64_t{256} << 20U);
      return any_provider(kubernetes::from_image(image).options(options));
    };
    places.push_back({name, provider, without, ""});
  };
  add("kubernetes", "cofferdam-test/debian:1", "");
  // The image has no bash. The attacks run at "kubernetes" only: the processes of other pods end in the same way.
  add("kubernetes_busybox", "cofferdam-test/busybox:1", "HostileConformance*");
  return places;
}

}  // namespace cofferdam_test
