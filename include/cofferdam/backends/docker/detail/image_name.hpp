// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The name of an image, as for `docker run`, parsed and completed.
///
/// ```
/// reference = [registry "/"] path [":" tag] ["@" digest] / id
/// registry  = host [":" port]          ; contains a "." or a ":", or is "localhost"; otherwise it belongs to the path
/// path      = part *("/" part)         ; "busybox" means docker.io/library/busybox
/// part      = alnum *(sep alnum)       ; alnum = 1*(a-z / 0-9), sep = "." / "_" / "__" / 1*"-"
/// tag       = (letter / digit / "_") 0*127(letter / digit / "_" / "." / "-")   ; default: "latest", if no digest
/// digest    = "sha256:" 64hex / "sha384:" 96hex / "sha512:" 128hex             ; lower case
/// id        = ["sha256:"] 64hex        ; an image that the daemon already has; an id cannot be pulled
/// ```
/// \par Source  distribution/reference (grammar and normalisation); opencontainers/go-digest; `docker run` for ids.
class image_name {
 public:
  /// Parses a name.
  /// \param  text  a `reference` of the grammar above; at most 1024 bytes.
  /// \throws       error{exec_errc::invalid_argument}. The message names the mistake and, if possible, the correct
  ///               spelling.
  explicit image_name(std::string_view text) {
    if (text.empty()) throw wrong(text, "is empty: write a name such as busybox:latest");
    if (text.size() > 1024) throw wrong(text.substr(0, 80), "is longer than 1024 bytes");
    if (is_hex(text, 64) || (text.starts_with("sha256:") && is_hex(text.substr(7), 64))) {
      digest_ = text.size() == 64 ? "sha256:" + std::string(text) : std::string(text);
      return;
    }
    std::string_view rest = text;
    if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
      digest_ = std::string(rest.substr(at + 1));
      rest = rest.substr(0, at);
      if (!is_digest(digest_))
        throw wrong(text, "has a digest that is not sha256: followed by 64 lower-case hex digits");
    }
    take_registry(text, rest);
    if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
      tag_ = std::string(rest.substr(colon + 1));
      rest = rest.substr(0, colon);
      if (!is_tag(tag_))
        throw wrong(text,
                    "has a tag that is not 1 to 128 letters, digits, '_', '.' or '-', not starting with '.', '-'");
    } else if (digest_.empty()) {
      tag_ = "latest";
    }
    if (std::any_of(rest.begin(), rest.end(), [](char c) { return c >= 'A' && c <= 'Z'; }))
      throw wrong(text, "has upper-case letters, which are allowed only in the tag");
    if (!is_path(rest))
      throw wrong(text, "is not made of lower-case letters and digits with single '.', '_', '__' or '-' between them");
    path_ = registry_ == hub && rest.find('/') == std::string_view::npos ? "library/" + std::string(rest)
                                                                         : std::string(rest);
    if (registry_.size() + 1 + path_.size() > 255) throw wrong(text, "is longer than 255 characters without its tag");
  }

  /// The default registry, Docker Hub.
  static constexpr std::string_view hub = "docker.io";

  /// Returns true if this is the id of an image and not a name. Only `digest()` is set then.
  bool is_id() const noexcept { return path_.empty(); }
  /// Returns the host of the registry, followed by a port if the name contains one.
  const std::string& registry() const noexcept { return registry_; }
  /// Returns the path of the image in the registry, such as `library/busybox`.
  const std::string& path() const noexcept { return path_; }
  /// Returns the tag. It is empty only if there is a digest.
  const std::string& tag() const noexcept { return tag_; }
  /// Returns the digest, such as `sha256:...`, or an empty text. With a digest, the image is fixed, no matter what the
  /// tag refers to.
  const std::string& digest() const noexcept { return digest_; }

  /// Returns the registry and the path, such as `docker.io/library/busybox`; empty for an id.
  std::string repository() const { return is_id() ? std::string() : registry_ + "/" + path_; }

  /// Returns the complete name, for requests to the daemon and as a key of caches. Different spellings of the same name
  /// result in the same text.
  std::string text() const {
    if (is_id()) return digest_;
    std::string name = repository();
    if (!tag_.empty()) name += ":" + tag_;
    if (!digest_.empty()) name += "@" + digest_;
    return name;
  }

  /// Returns the parameter `fromImage` of a pull: the repository, and the digest if there is one. Without a tag and a
  /// digest the daemon would pull all tags, but `pull_from` or `pull_tag` always contains one of them.
  std::string pull_from() const { return digest_.empty() ? repository() : repository() + "@" + digest_; }
  /// Returns the parameter `tag` of a pull; empty if there is a digest.
  std::string pull_tag() const { return digest_.empty() ? tag_ : std::string(); }

  friend bool operator==(const image_name& a, const image_name& b) = default;

 private:
  static error wrong(std::string_view text, const std::string& what) {
    return error(exec_errc::invalid_argument, "docker: the image name \"" + one_line(text, 120) + "\" " + what);
  }

  static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static bool is_lower(char c) noexcept { return (c >= 'a' && c <= 'z') || is_digit(c); }
  static bool is_letter(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

  static bool is_hex(std::string_view text, std::size_t size) {
    return text.size() == size &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
  }

  static bool is_digest(std::string_view text) {
    if (text.starts_with("sha256:")) return is_hex(text.substr(7), 64);
    if (text.starts_with("sha384:")) return is_hex(text.substr(7), 96);
    return text.starts_with("sha512:") && is_hex(text.substr(7), 128);
  }

  static bool is_tag(std::string_view text) {
    if (text.empty() || text.size() > 128 || text.front() == '.' || text.front() == '-') return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return is_letter(c) || c == '_' || c == '.' || c == '-'; });
  }

  static bool is_path(std::string_view path) {
    for (std::size_t at = 0;;) {
      const std::size_t slash = std::min(path.find('/', at), path.size());
      if (!is_part(path.substr(at, slash - at))) return false;
      if (slash == path.size()) return true;
      at = slash + 1;
    }
  }

  static bool is_part(std::string_view part) {
    if (part.empty() || !is_lower(part.front()) || !is_lower(part.back())) return false;
    for (std::size_t at = 0; at < part.size();) {
      if (is_lower(part[at])) {
        ++at;
        continue;
      }
      const std::size_t end = std::min(part.find_first_not_of("._-", at), part.size());
      const std::string_view between = part.substr(at, end - at);
      const bool valid = between == "." || between == "_" || between == "__" ||
                         between.find_first_not_of('-') == std::string_view::npos;
      if (!valid || between.empty()) return false;
      at = end;
    }
    return true;
  }

  // Sets the registry to the part before the first slash, if that part is a host; otherwise to `hub`.
  void take_registry(std::string_view text, std::string_view& rest) {
    registry_ = hub;
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return;
    const std::string_view first = rest.substr(0, slash);
    if (first != "localhost" && first.find_first_of(".:") == std::string_view::npos) return;
    if (!is_registry(first)) throw wrong(text, "has no valid registry before its first '/'");
    registry_ = first == "index.docker.io" ? std::string(hub) : std::string(first);
    rest.remove_prefix(slash + 1);
  }

  static bool is_registry(std::string_view text) {
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
      const std::size_t close = text.find(']');
      if (close == std::string_view::npos) return false;
      host = text.substr(1, close - 1);
      port = text.substr(close + 1);
      if (host.empty() || host.find_first_not_of("0123456789abcdefABCDEF:") != std::string_view::npos) return false;
    } else {
      const std::size_t colon = std::min(text.find(':'), text.size());
      host = text.substr(0, colon);
      port = text.substr(colon);
      for (std::size_t at = 0; at <= host.size();) {
        const std::size_t dot = std::min(host.find('.', at), host.size());
        const std::string_view label = host.substr(at, dot - at);
        if (label.empty() || !is_letter(label.front()) || !is_letter(label.back())) return false;
        if (!std::all_of(label.begin(), label.end(), [](char c) { return is_letter(c) || c == '-'; })) return false;
        at = dot + 1;
      }
    }
    if (port.empty()) return true;
    port.remove_prefix(1);
    return text[text.size() - port.size() - 1] == ':' && !port.empty() && port.size() <= 5 &&
           std::all_of(port.begin(), port.end(), is_digit);
  }

  std::string registry_;
  std::string path_;
  std::string tag_;
  std::string digest_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
