// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/serve/detail/secrets.hpp>
#include <cofferdam/serve/mcp/detail/json_rpc.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// A signer of states: texts that the server gives to a client and gets back in a later request. A client can read a
/// sealed state, but not change it. `open` accepts a state only once, within one hour, and only for the purpose for
/// which it was sealed.
class sealed_states {
 public:
  /// Seals a state.
  /// \param purpose  the use of the state: the client, the method, the name and the arguments.
  std::string seal(std::string_view purpose, std::string_view state) {
    boost::json::object inside;
    inside["state"] = cofferdam::detail::base64_encode(as_bytes(state));  // the state may have any bytes
    inside["until"] = now() + longest;
    inside["once"] = cofferdam::detail::random_name(22);
    const std::string text = boost::json::serialize(inside);
    return cofferdam::detail::base64_encode(as_bytes(text), cofferdam::detail::base64_alphabet::url) + "." +
           sign(purpose, text);
  }

  /// Opens a sealed state.
  /// \return no value if the state was not sealed by this object, was sealed for another purpose, has expired, or was
  ///     opened before.
  std::optional<std::string> open(std::string_view purpose, std::string_view sealed) {
    const std::size_t dot = sealed.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::optional<bytes> raw =
        cofferdam::detail::base64_decode(sealed.substr(0, dot), cofferdam::detail::base64_alphabet::url);
    if (!raw) return std::nullopt;
    const std::string_view text = as_text(*raw);
    if (!cofferdam::detail::same_secret(sign(purpose, text), sealed.substr(dot + 1))) return std::nullopt;
    const boost::json::value inside = boost::json::parse(json_view(text));
    const boost::json::object& object = inside.as_object();
    if (object.at("until").to_number<std::int64_t>() < now()) return std::nullopt;
    const std::string once(text_at(object, "once"));
    if (!used_.insert(once).second) return std::nullopt;
    order_.push_back(once);
    // The oldest entries have expired, unless more than a thousand states a minute are opened.
    if (order_.size() > 100'000) {
      used_.erase(order_.front());
      order_.pop_front();
    }
    const std::optional<bytes> state = cofferdam::detail::base64_decode(text_at(object, "state"));
    return state ? std::optional(std::string(as_text(*state))) : std::nullopt;
  }

 private:
  static constexpr std::int64_t longest = 3600;

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::string sign(std::string_view purpose, std::string_view text) const {
    std::string signed_text(purpose);
    signed_text += '\0';
    signed_text += text;
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
             reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), digest.data(),
             &size) == nullptr)
      throw error(exec_errc::io_error, "mcp: OpenSSL cannot compute an HMAC");
    return cofferdam::detail::base64_encode(bytes_view(reinterpret_cast<const std::byte*>(digest.data()), size),
                                            cofferdam::detail::base64_alphabet::url);
  }

  std::string key_ = cofferdam::detail::random_token();
  std::set<std::string> used_;
  std::deque<std::string> order_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
