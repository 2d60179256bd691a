// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

/// A process that the daemon of a sandbox has started for any client.
class running_process {
 public:
  running_process() = default;
  /// \param said  ProcessInfo of envd's process.proto.
  explicit running_process(const boost::json::object& said) {
    namespace json = cofferdam::detail;
    pid_ = json::number_at(said, "pid").value_or(0);
    tag_ = json::text_at(said, "tag");
    const boost::json::object* const config = json::object_at(said, "config");
    if (config == nullptr) return;
    words_.emplace_back(json::text_at(*config, "cmd"));
    if (const boost::json::array* const args = json::array_at(*config, "args"))
      for (const boost::json::value& each : *args)
        if (const boost::json::string* const text = each.if_string()) words_.emplace_back(text->data(), text->size());
  }

  /// Returns its process number in the sandbox.
  std::int64_t pid() const noexcept { return pid_; }
  /// Returns the tag that the starting client gave it; often empty.
  const std::string& tag() const noexcept { return tag_; }
  /// Returns the program and its arguments. Commands of this library are inside a script.
  const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  std::int64_t pid_ = 0;
  std::string tag_;
  std::vector<std::string> words_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
