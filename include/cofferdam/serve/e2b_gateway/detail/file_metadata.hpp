// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/http_message.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The metadata that clients have set for files, by `X-Metadata-KEY` header fields. envd, E2B's daemon in a sandbox,
/// stores it in attributes of the files. The gateway stores it by path, so it follows moves and removals by clients,
/// but not by commands.
/// \par Source  envd's API, envd.yaml.
class metadata_store {
 public:
  using values = std::map<std::string, std::string>;

  /// Returns the metadata in the header fields of an upload.
  /// \throws http_refusal 400 for fields that envd does not accept.
  static values of(const http_fields& fields) {
    constexpr std::string_view prefix = "X-Metadata-";
    constexpr std::size_t max_key = 246;
    constexpr std::size_t max_total = 4096;
    values result;
    std::size_t size = 0;
    for (const http_field& field : fields) {
      const std::string_view name = field.name();
      if (name.size() < prefix.size() || !cofferdam::detail::same_ignoring_case(name.substr(0, prefix.size()), prefix))
        continue;
      std::string key(name.substr(prefix.size()));
      for (char& c : key) c = cofferdam::detail::lowered(c);
      if (key.empty() || key.size() > max_key)
        throw http_refusal(400, "file metadata: a key must have 1 to " + std::to_string(max_key) + " characters");
      for (const char c : field.value())
        if (c < ' ' || c > '~') throw http_refusal(400, "file metadata: a value must be printable US-ASCII");
      size += key.size() + field.value().size();
      result.insert_or_assign(std::move(key), std::string(field.value()));
    }
    if (size > max_total)
      throw http_refusal(400, "file metadata: more than " + std::to_string(max_total) + " bytes of keys and values");
    return result;
  }

  /// Replaces the metadata of a file.
  /// \throws http_refusal 507 if the sandbox has too much metadata already.
  void assign(const std::string& path, const values& metadata) {
    forget(path);
    if (metadata.empty()) return;
    const std::size_t size = size_of(path, metadata);
    if (size > max_bytes - bytes_)
      throw http_refusal(507, "file metadata: the sandbox already has the maximum of 4 MiB");
    bytes_ += size;
    files_.emplace(path, metadata);
  }
  /// Removes the metadata of a path that was removed, and of everything below it.
  void removed(const std::string& path) {
    forget(path);
    for (auto at = files_.lower_bound(path + "/"); at != files_.end() && at->first.starts_with(path + "/");) {
      bytes_ -= size_of(at->first, at->second);
      at = files_.erase(at);
    }
  }
  /// Moves the metadata of a path, and of everything below it, to another path.
  void moved(const std::string& from, const std::string& to) {
    std::map<std::string, values> taken;
    const auto take = [&](auto at) {
      bytes_ -= size_of(at->first, at->second);
      taken.emplace(to + at->first.substr(from.size()), std::move(at->second));
      return files_.erase(at);
    };
    if (const auto found = files_.find(from); found != files_.end()) take(found);
    for (auto at = files_.lower_bound(from + "/"); at != files_.end() && at->first.starts_with(from + "/");)
      at = take(at);
    removed(to);
    for (auto& [path, metadata] : taken) {
      bytes_ += size_of(path, metadata);
      files_.insert_or_assign(path, std::move(metadata));
    }
  }

  /// Adds the member `metadata` to the description of a file, if the file has metadata.
  void describe(boost::json::object& file, const std::string& path) const {
    const auto found = files_.find(path);
    if (found == files_.end()) return;
    boost::json::object object;
    for (const auto& [key, value] : found->second) object[boost::json::string_view(key.data(), key.size())] = value;
    file["metadata"] = std::move(object);
  }

 private:
  static constexpr std::size_t max_bytes = std::size_t{4} * 1024 * 1024;

  static std::size_t size_of(const std::string& path, const values& metadata) noexcept {
    std::size_t size = path.size() + 128;
    for (const auto& [key, value] : metadata) size += key.size() + value.size() + 128;
    return size;
  }
  void forget(const std::string& path) noexcept {
    const auto found = files_.find(path);
    if (found == files_.end()) return;
    bytes_ -= size_of(found->first, found->second);
    files_.erase(found);
  }

  std::map<std::string, values> files_;
  std::size_t bytes_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
