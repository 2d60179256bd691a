// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/version.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse_options.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/string_view.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Parses and formats JSON-RPC 2.0 messages, as MCP uses them. MCP, "Messages".

namespace cofferdam::inline COFFERDAM_ABI::mcp::detail {

/// The `code` of a JSON-RPC error response.
enum rpc_code : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  refused_by_transport = -32000,
  no_session = -32001,
  no_resource = -32002,  // only in the legacy era: versions up to 2025-11-25
  header_mismatch = -32020,
  missing_capability = -32021,
  unsupported_version = -32022,
};

using cofferdam::detail::if_text_at;
using cofferdam::detail::json_view;
using cofferdam::detail::object_at;
using cofferdam::detail::text_at;
using cofferdam::detail::view_of;

/// The reason why a text is not a valid message, as a JSON-RPC error.
class rpc_fault {
 public:
  rpc_fault(int code, std::string message) : code_(code), message_(std::move(message)) {}
  int code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  int code_;
  std::string message_;
};

enum class rpc_kind { request, notification, response };

/// A parsed message. The parameters have not been checked.
class rpc_message {
 public:
  rpc_kind kind = rpc_kind::notification;
  boost::json::value id;  // null if the message has none
  std::string method;
  boost::json::object params;
  boost::json::object whole;  // the whole message, if it is a response
  std::size_t size = 0;       // the length of its text, in bytes

  /// Returns the id as JSON text, in which 0 and "0" differ.
  std::string id_text() const { return boost::json::serialize(id); }
};

/// The result of parsing a text: one message or a batch of messages. Each message is valid or has a fault.
class rpc_input {
 public:
  bool is_batch = false;
  std::vector<rpc_message> messages;
  /// The faults of invalid messages. Each has the id of its message, or null if the id is unknown.
  std::vector<std::pair<rpc_fault, boost::json::value>> faults;
};

class rpc_limits {
 public:
  std::size_t bytes = std::size_t{16} * 1024 * 1024;
  /// Returns the maximum number of JSON values in one text. The limit exists because no other request is served while a
  /// text is parsed. It allows a text of the maximum size to have an average of 40 bytes per value.
  std::size_t values() const noexcept { return std::max<std::size_t>(bytes / 40, 1000); }
  std::size_t depth = 64;
  std::size_t batch = 100;
  std::size_t id_bytes = 1024;
};

/// Parses one JSON value as a message, and adds the message or its fault to `into`.
/// \param size  the length of the value's text, in bytes.
inline void read_rpc_value(boost::json::value value, const rpc_limits& limits, std::size_t size, rpc_input& into) {
  const auto wrong = [&into](const char* why, boost::json::value id = nullptr) {
    into.faults.emplace_back(rpc_fault(invalid_request, why), std::move(id));
  };
  boost::json::object* const object = value.if_object();
  if (object == nullptr) {
    wrong("Invalid Request: a message must be a JSON object");
    return;
  }
  const boost::json::value* const id = object->if_contains("id");
  bool has_good_id = id != nullptr && (id->is_int64() || id->is_uint64());
  if (id != nullptr && id->is_string()) has_good_id = id->get_string().size() <= limits.id_bytes;
  const boost::json::value known_id = has_good_id ? *id : boost::json::value();
  if (const auto version = if_text_at(*object, "jsonrpc"); !version || *version != "2.0") {
    wrong("Invalid Request: 'jsonrpc' must be \"2.0\"", known_id);
    return;
  }
  if (id != nullptr && !has_good_id) {
    // A client sends an error response with a null id if it cannot read a message. Such a response is ignored.
    if (!object->contains("method") && object->contains("error")) return;
    wrong("Invalid Request: 'id' must be a string (of at most 1024 bytes) or an integer");
    return;
  }
  rpc_message message;
  message.size = size;
  if (has_good_id) message.id = *id;
  const boost::json::value* const method = object->if_contains("method");
  if (method == nullptr) {
    if (id == nullptr || object->contains("result") == object->contains("error")) {
      wrong("Invalid Request: the message has neither 'method' nor a result or error", known_id);
      return;
    }
    message.kind = rpc_kind::response;
    message.whole = std::move(*object);
    into.messages.push_back(std::move(message));
    return;
  }
  if (!method->is_string()) {
    wrong("Invalid Request: 'method' must be a string", known_id);
    return;
  }
  message.method = std::string(view_of(method->get_string()));
  message.kind = id != nullptr ? rpc_kind::request : rpc_kind::notification;
  if (boost::json::value* const params = object->if_contains("params"); params != nullptr && !params->is_null()) {
    if (!params->is_object()) {
      if (id != nullptr) into.faults.emplace_back(rpc_fault(invalid_params, "'params' must be an object"), known_id);
      return;
    }
    message.params = std::move(params->get_object());
  }
  into.messages.push_back(std::move(message));
}

/// Parses a text from a client, which may contain a message, a batch or anything else.
inline rpc_input read_rpc(std::string_view text, const rpc_limits& limits) {
  rpc_input input;
  if (text.size() > limits.bytes) {
    input.faults.emplace_back(rpc_fault(invalid_request, "Invalid Request: a message can have at most " +
                                                             std::to_string(limits.bytes) + " bytes"),
                              nullptr);
    return input;
  }
  boost::json::parse_options options;
  options.max_depth = limits.depth;
  if (cofferdam::detail::has_more_values(text, limits.values(), options)) {
    input.faults.emplace_back(rpc_fault(invalid_request, "Invalid Request: a message can have at most " +
                                                             std::to_string(limits.values()) + " JSON values"),
                              nullptr);
    return input;
  }
  std::error_code failure;
  boost::json::value value = cofferdam::detail::parse_untrusted_json(text, failure, options);
  if (failure) {
    std::string why = "Parse error";
    if (failure == make_error_code(boost::json::error::too_deep)) why += ": nested too deeply";
    if (failure == make_error_code(boost::json::error::object_too_large))
      why += ": an object has more than " + std::to_string(cofferdam::detail::max_members) + " members";
    input.faults.emplace_back(rpc_fault(parse_error, why), nullptr);
    return input;
  }
  boost::json::array* const batch = value.if_array();
  if (batch == nullptr) {
    read_rpc_value(std::move(value), limits, text.size(), input);
    return input;
  }
  input.is_batch = true;
  if (batch->empty() || batch->size() > limits.batch) {
    input.faults.emplace_back(rpc_fault(invalid_request, "Invalid Request: a batch must have 1 to " +
                                                             std::to_string(limits.batch) + " messages"),
                              nullptr);
    return input;
  }
  for (boost::json::value& each : *batch) read_rpc_value(std::move(each), limits, text.size() / batch->size(), input);
  return input;
}

inline std::string rpc_result(const std::string& id_text, const boost::json::object& result) {
  return R"({"jsonrpc":"2.0","id":)" + id_text + R"(,"result":)" + readable_json(result) + "}";
}
/// Formats an error response.
/// \param id_text  the id as JSON text; if it is empty, the response has no id.
inline std::string rpc_error(std::string_view id_text, int code, std::string_view message,
                             const boost::json::value& data = nullptr) {
  boost::json::object error;
  error["code"] = code;
  error["message"] = boost::json::string(json_view(message));
  if (!data.is_null()) error["data"] = data;
  std::string text = R"({"jsonrpc":"2.0",)";
  if (!id_text.empty()) text.append(R"("id":)").append(id_text).append(",");
  return text + R"("error":)" + readable_json(error) + "}";
}
inline std::string rpc_notification(std::string_view method, const boost::json::object& params) {
  return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":)" + readable_json(params) + "}";
}
/// Formats a request.
/// \param id_text  the id as JSON text.
inline std::string rpc_request(const std::string& id_text, std::string_view method, const boost::json::object& params) {
  return R"({"jsonrpc":"2.0","id":)" + id_text + R"(,"method":")" + std::string(method) + R"(","params":)" +
         readable_json(params) + "}";
}

/// A splitter that finds the lines of a stream in its pieces. A line that is too long is reported once, as soon as this
/// is known, and the rest of it is skipped.
class line_reader {
 public:
  enum class found { nothing, line, too_long };

  explicit line_reader(std::size_t longest) : longest_(longest) {}

  /// Finds the next line that is not empty, and removes it from `piece`.
  /// \param line  receives the line without its line end; valid until the next call, while the bytes of `piece` exist.
  /// \return      `nothing` if `piece` contains no further line end.
  found next(std::string_view& piece, std::string_view& line) {
    if (given_) {
      kept_.clear();
      given_ = false;
    }
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const bool whole = end != std::string_view::npos;
      std::string_view part = piece.substr(0, end);
      piece.remove_prefix(whole ? end + 1 : piece.size());
      if (skipping_) {
        skipping_ = !whole;
        continue;
      }
      if (kept_.size() + part.size() > longest_ + 1) {  // one byte more for a carriage return
        kept_ = std::string();
        skipping_ = !whole;
        return found::too_long;
      }
      if (!whole) {
        kept_ += part;
        continue;
      }
      if (!kept_.empty()) {
        kept_ += part;
        part = kept_;
        given_ = true;
      }
      if (part.ends_with('\r')) part.remove_suffix(1);
      if (part.size() > longest_) return found::too_long;
      if (part.find_first_not_of(" \t") == std::string_view::npos) {
        if (given_) kept_.clear();
        given_ = false;
        continue;
      }
      line = part;
      return found::line;
    }
    return found::nothing;
  }

 private:
  std::size_t longest_;
  std::string kept_;
  bool skipping_ = false;
  bool given_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::mcp::detail
