// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// A command that has ended while a process that it started still runs (`background_policy::keep`).
class background_command {
 public:
  background_command(std::uint32_t number, std::string program) : number_(number), program_(std::move(program)) {}
  /// Returns the number of the command in its environment. This is not a process number.
  std::uint32_t number() const noexcept { return number_; }
  /// Returns the program or the shell line, cut to one line.
  const std::string& program() const noexcept { return program_; }

 private:
  std::uint32_t number_;
  std::string program_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
