// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>

#include <array>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Returns true if a stream contains the message of sudo about no_new_privs, the kernel's flag that keeps a process
/// from gaining privileges.
inline bool tells_of_no_new_privileges(const captured_output& stream) {
  // The second message is from sudo releases before 1.9.
  constexpr std::array<std::string_view, 2> sentences{"\"no new privileges\" flag is set",
                                                      "sudo: effective uid is not 0"};
  for (const bytes* part : {&stream.head(), &stream.tail()}) {
    const std::string_view text(reinterpret_cast<const char*>(part->data()), part->size());
    for (const std::string_view sentence : sentences)
      if (text.find(sentence) != std::string_view::npos) return true;
  }
  return false;
}

/// Adds advice to the result of a command that has failed because sudo cannot gain privileges. Does not replace other
/// advice.
/// \param result  the result, with its output.
inline void advise_without_sudo(command_result& result) {
  if (result.ok() || !result.advice().empty()) return;
  if (!tells_of_no_new_privileges(result.err()) && !tells_of_no_new_privileges(result.out())) return;
  result.advice(
      "Commands cannot gain privileges here (no_new_privs), so sudo always fails. Work without root: install into the "
      "working directory, for example with 'python3 -m venv' or '--prefix'.");
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
