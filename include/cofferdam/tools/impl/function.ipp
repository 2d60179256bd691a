// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/tagged_value.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/number_text.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/tools/answer_to_model.hpp>
#include <cofferdam/net/readable_json.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/detail/argument_rules.hpp>
#include <cofferdam/tools/detail/function_calls.hpp>
#include <cofferdam/tools/detail/typed_handler.hpp>
#include <cofferdam/tools/detail/value_type.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/tool.hpp>

#include <asio/cancellation_state.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::tools::detail {

// ---- calls by models ------------------------------------------------------------------------------------------------

/// Converts the result of a handler to the answer for a model.
inline tool_result answer_of(const handler_value& result) {
  if (result.answer()) return *result.answer();
  const boost::json::value& value = result.value();
  if (value.is_null()) return {"done", true};
  if (value.is_string()) return {std::string(cofferdam::detail::view_of(value.get_string())), true};
  if (value.is_double()) return {cofferdam::detail::number_text(value.get_double()), true};
  tool_result answer(readable_json(value), true);
  if (value.is_object()) answer.data(value.get_object());
  return answer;
}

COFFERDAM_DECL awaitable<tool_result> answer_call(shared_arguments list, function_handler handler,
                                                  boost::json::value arguments) {
  checked_arguments values;
  const std::string complaint = list->check(arguments, values);
  if (!complaint.empty()) co_return tool_result("Error: " + complaint, false);
  std::exception_ptr failure;
  try {
    const handler_value result = co_await handler(std::move(values));
    co_return answer_of(result);
  } catch (const error& known) {
    if (cofferdam::detail::ends_everything(known)) throw;
    failure = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) std::rethrow_exception(failure);
  co_return cofferdam::detail::answer_to_model(failure);
}

// ---- calls by Python code -------------------------------------------------------------------------------------------

/// Converts tagged Python values (see `tagged_value.hpp`) to the JSON form that the argument's type requires: a tagged
/// float to a number, tagged bytes to base64.
inline void untag(boost::json::value& value, const value_type& type) {
  if (type.kind() == value_kind::list && value.is_array())
    for (boost::json::value& each : value.get_array()) untag(each, type.item());
  const std::string_view tag = python_type(value);
  if (tag.empty()) return;
  const std::string text(cofferdam::detail::text_at(value.if_object(), "text"));
  if (type.kind() == value_kind::number && tag == "float") {
    value = text == "nan"   ? std::numeric_limits<double>::quiet_NaN()
            : text == "inf" ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity();
  } else if (type.kind() == value_kind::number && tag == "int") {
    const double number = std::strtod(text.c_str(), nullptr);
    if (std::isfinite(number)) value = number;
  } else if (type.kind() == value_kind::binary && (tag == "bytes" || tag == "bytearray")) {
    value = boost::json::string(cofferdam::detail::text_at(value.if_object(), "base64"));
  }
}

/// Converts the result of a handler to the value that Python code receives.
/// \throws std::runtime_error if the handler returned a failed `tool_result`.
inline boost::json::value python_value(handler_value result) {
  if (!result.answer()) return result.value();
  const tool_result& answer = *result.answer();
  if (!answer.ok()) throw std::runtime_error(answer.text());
  if (!answer.data().empty()) return python_json(answer.data());
  if (answer.images().empty() && answer.media().empty()) return boost::json::value(answer.text());
  boost::json::array images;
  for (const tool_image& each : answer.images()) images.push_back(python_bytes(each.content()));
  boost::json::object object;
  object["text"] = answer.text();
  object["images"] = std::move(images);
  if (answer.media().empty()) return object;
  boost::json::array media;
  for (const tool_media& each : answer.media()) media.push_back(python_bytes(each.content()));
  object["media"] = std::move(media);
  return object;
}

inline awaitable<boost::json::value> python_call(std::string name, shared_arguments list, function_handler handler,
                                                 boost::json::object arguments) {
  for (const argument_rules& each : list->rules())
    if (boost::json::value* const given = arguments.if_contains(each.name)) untag(*given, each.type);
  checked_arguments values;
  const boost::json::value given(std::move(arguments));
  const std::string complaint = list->check(given, values, number_range::all);
  if (!complaint.empty()) throw cofferdam::detail::wrong_arguments(name + ": " + complaint);
  handler_value result = co_await handler(std::move(values));
  co_return python_value(std::move(result));
}

COFFERDAM_DECL cofferdam::detail::host_function python_function(std::string name, std::string description,
                                                                shared_arguments list, function_handler handler) {
  auto call = [name, list, handler = std::move(handler)](boost::json::object arguments) {
    return python_call(name, list, handler, std::move(arguments));
  };
  cofferdam::detail::host_function result(std::move(name), call);
  result.doc(std::move(description));
  for (const argument_rules& each : list->rules()) {
    if (each.required) {
      result.parameter(each.name, each.type.python_name());
      continue;
    }
    boost::json::value usual = each.fallback.value_or(nullptr);
    if (usual.is_string() && each.type.kind() == value_kind::binary)
      usual = python_bytes(
          cofferdam::detail::base64_decode(cofferdam::detail::view_of(usual.get_string())).value_or(bytes()));
    result.parameter(each.name, each.type.python_name(), std::optional<boost::json::value>(std::move(usual)));
  }
  return result;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::tools::detail
