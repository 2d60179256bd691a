// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace cofferdam_test {

/// Returns the error that a call throws. Returns no value, and fails the test, if the call throws no error.
template <class Call>
std::optional<cofferdam::error> error_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const cofferdam::error& failure) {
    return failure;
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::nullopt;
}

/// Returns the code of the error that a call throws. Fails the test if the call throws no error.
template <class Call>
std::error_code code_of(Call&& call) {
  const std::optional<cofferdam::error> failure = error_of(std::forward<Call>(call));
  return failure ? failure->code() : std::error_code();
}

/// Returns the message of the error that a call throws. Fails the test if the call throws no error.
template <class Call>
std::string sentence_of(Call&& call) {
  const std::optional<cofferdam::error> failure = error_of(std::forward<Call>(call));
  return failure ? failure->what() : "";
}

}  // namespace cofferdam_test
