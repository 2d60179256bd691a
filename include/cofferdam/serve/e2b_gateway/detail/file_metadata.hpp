// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/net/http_message.hpp>
#include <cofferdam/serve/e2b_gateway/detail/answers.hpp>
#include <cofferdam/serve/e2b_gateway/detail/routing.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail {

/// The metadata that clients have set for files, by `X-Metadata-KEY` header fields. envd, E2B's daemon in a sandbox,
/// stores it in attributes of the files. The gateway stores it by the identity of the file
/// (`guest_files::identity_of`), so it follows a file that a client or a command moves, and ends with the file.
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

  /// Returns true if no file has metadata.
  bool empty() const noexcept { return files_.empty(); }

  /// Replaces the metadata of a file.
  /// \return  false if the sandbox has too much metadata. Then nothing has changed.
  bool assign(const std::string& identity, const values& metadata) {
    const auto old = files_.find(identity);
    const std::size_t freed = old == files_.end() ? 0 : size_of(old->first, old->second);
    const std::size_t size = metadata.empty() ? 0 : size_of(identity, metadata);
    if (size > max_bytes - (bytes_ - freed)) return false;
    bytes_ = bytes_ - freed + size;
    if (metadata.empty()) {
      files_.erase(identity);
    } else {
      files_.insert_or_assign(identity, metadata);
    }
    return true;
  }
  /// Returns the metadata of a file; an empty map if it has none.
  values find(const std::string& identity) const {
    const auto found = files_.find(identity);
    return found == files_.end() ? values() : found->second;
  }
  /// Forgets the metadata of all files but these.
  void keep_only(const std::set<std::string>& identities) {
    for (auto at = files_.begin(); at != files_.end();) {
      const bool is_kept = identities.contains(at->first);
      if (!is_kept) bytes_ -= size_of(at->first, at->second);
      at = is_kept ? std::next(at) : files_.erase(at);
    }
  }

  /// Adds the member `metadata` to the description of a file, if the file has metadata.
  static void describe(boost::json::object& file, const values& metadata) {
    if (metadata.empty()) return;
    boost::json::object object;
    for (const auto& [key, value] : metadata) object[boost::json::string_view(key.data(), key.size())] = value;
    file["metadata"] = std::move(object);
  }

 private:
  static constexpr std::size_t max_bytes = std::size_t{4} * 1024 * 1024;

  static std::size_t size_of(const std::string& identity, const values& metadata) noexcept {
    std::size_t size = identity.size() + 128;
    for (const auto& [key, value] : metadata) size += key.size() + value.size() + 128;
    return size;
  }

  std::map<std::string, values> files_;
  std::size_t bytes_ = 0;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b_gateway::detail
