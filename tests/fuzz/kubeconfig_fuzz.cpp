// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the readers of kubeconfig files, of the output of exec plugins and of times get any text. They must
// accept it or refuse it with an error that names the file; they must not crash, hang or read past the end.
// Input: one byte that selects the reader, then the text.

#include <cofferdam/backends/kubernetes/detail/credentials.hpp>
#include <cofferdam/backends/kubernetes/detail/kubeconfig.hpp>
#include <cofferdam/core/error.hpp>

#include "fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace cofferdam::kubernetes::detail;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Returns the number of values in a tree, and checks its form.
std::size_t count(const yaml_node& node) {
  require(node.line >= 1);
  require(node.type == yaml_node::kind::map ? node.keys.size() == node.items.size() : node.keys.empty());
  require(node.items.empty() || node.type == yaml_node::kind::list || node.type == yaml_node::kind::map);
  std::size_t total = 1;
  for (const yaml_node& item : node.items) total += count(item);
  return total;
}

void read(std::string_view text) {
  try {
    const yaml_node root = cofferdam::detail::read_yaml(text, "the file");
    require(count(root) <= 2 * text.size() + 2);
    const kubeconfig config = read_kubeconfig(text, "the file");
    for (const kube_user& user : config.users) require(!user.name.empty());
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::invalid_argument);
    require(std::string_view(failure.what()).starts_with("the file, line "));
  }
}

void read_output(std::string_view text) {
  kube_exec exec;
  exec.api_version = "client.authentication.k8s.io/v1";
  try {
    const kube_credentials found = read_exec_credential(text, exec, "the plugin");
    require(!found.authorization.empty() || !found.certificate.empty());
    require(found.certificate.empty() == found.key.empty());
  } catch (const cofferdam::error& failure) {
    require(failure.code() == cofferdam::exec_errc::provider_failed);
    require(std::string_view(failure.what()).starts_with("the plugin: "));
  }
  static_cast<void>(parse_kube_time(text));
}

}  // namespace

COFFERDAM_FUZZ_TARGET(kubeconfig)(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1U) != 0) {
    read_output(text);
  } else {
    read(text);
  }
  return 0;
}
