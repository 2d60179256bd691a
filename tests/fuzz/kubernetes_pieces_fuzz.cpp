// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Fuzz target: the parsers of the Kubernetes backend get any bytes. The first byte selects the parser. For the watch,
// the second byte sets the size of the pieces, which must not change the result.

#include <cofferdam/backends/kubernetes/detail/api_error.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_request.hpp>
#include <cofferdam/backends/kubernetes/detail/claim_status.hpp>
#include <cofferdam/backends/kubernetes/detail/exec_channel.hpp>
#include <cofferdam/backends/kubernetes/detail/merge_patch.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_check.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_containers.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_status.hpp>
#include <cofferdam/backends/kubernetes/detail/quantity.hpp>
#include <cofferdam/backends/kubernetes/detail/watch_reader.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include "fuzz/target.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using namespace cofferdam;
using namespace cofferdam::kubernetes;
using namespace cofferdam::kubernetes::detail;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string read_watch(std::string_view text, std::size_t size) {
  watch_reader reader;
  std::string result;
  try {
    for (std::size_t at = 0; at < text.size(); at += size) {
      std::string_view piece = text.substr(at, size);
      while (const std::optional<watch_event> event = reader.next(piece))
        result += std::to_string(static_cast<int>(event->kind())) + boost::json::serialize(event->object()) + "\n";
      require(piece.empty());
    }
  } catch (const error& failure) {
    return result + failure.what();
  }
  return result + (reader.is_cut() ? "cut" : "whole");
}

void read_exec(std::string_view text, std::size_t size) {
  exec_reader reader;
  try {
    for (std::size_t at = 0; at < text.size(); at += size) {
      const std::optional<exec_message> message = reader.take(text.substr(at, size));
      require(!message || !message->content().empty());
    }
  } catch (const error&) {
  }
  if (const std::optional<exec_end> end = reader.end())
    require(!end->exit_code() || (*end->exit_code() >= 0 && *end->exit_code() <= 255));
}

void read_object(std::string_view text) {
  std::error_code failure;
  boost::json::value value = cofferdam::detail::parse_untrusted_json(text, failure);
  if (failure || !value.is_object()) return;
  static const boost::json::object asked = pod_request("a", "b", "x86_64", pod_options()).body();
  const boost::json::object& object = value.get_object();
  const pod_verdict verdict = judge_pod(object);
  const std::string sentence = pod_error(verdict, "b", true).what();
  require(sentence.find('\n') == std::string::npos && sentence.size() < 8192);
  const std::string of_claim = claim_error(judge_claim(object), "b", "c").what();
  require(of_claim.find('\n') == std::string::npos && of_claim.size() < 8192);
  const std::string of_sandbox =
      sandbox_pod_error(judge_sandbox_pod(object, default_container(object)), pod_of(object), sandbox_of(object))
          .what();
  require(of_sandbox.find('\n') == std::string::npos && of_sandbox.size() < 8192);
  static_cast<void>(choose_pool(object, template_of(object)));
  static_cast<void>(check_pod(asked, object));
  static_cast<void>(check_pod(object, asked));
  boost::json::value target = asked;
  apply_merge_patch(target, value);
  const boost::json::value once = target;
  apply_merge_patch(target, value);
  require(target == once);  // a patch that is applied twice has the same effect
}

}  // namespace

COFFERDAM_FUZZ_TARGET(kubernetes_pieces)(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = std::max<std::size_t>(data[1], 1);
  switch (data[0] % 4) {
    case 0: require(read_watch(text, piece) == read_watch(text, std::max<std::size_t>(text.size(), 1))); break;
    case 1: read_exec(text, piece); break;
    case 2: read_object(text); break;
    default: {
      const std::string sentence = api_error(api_status::read(data[1], text), "test").what();
      require(sentence.find('\n') == std::string::npos);
      static_cast<void>(quantity_in_thousandths(text));
      static_cast<void>(retry_after(text));
      break;
    }
  }
  return 0;
}
