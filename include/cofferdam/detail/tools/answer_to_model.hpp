// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/code/host_function.hpp>
#include <cofferdam/tools/tool.hpp>

#include <exception>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns the words with which a model learns why a call has failed, without misleading characters. A message of the
/// library stays as it is; every other message becomes one line.
inline std::string reason_for_model(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const wrong_arguments& wrong) {
    return printable_text(wrong.what());
  } catch (const error& known) {
    return printable_text(known.what());
  } catch (const std::exception& other) {
    return "the tool failed: " + one_line(other.what(), 1000);
  } catch (...) {
    return "the tool failed in an unknown way.";
  }
}

/// Converts the exception of a tool to the answer for a model. The caller rethrows those that must end its own work.
inline tools::tool_result answer_to_model(const std::exception_ptr& failure) {
  return {"Error: " + reason_for_model(failure), false};
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
