// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_running_command;
using running_command = basic_running_command<>;

/// The commands of one environment, and a read buffer. The commands share the buffer, because only one of them reads at
/// a time.
class command_registry {
 public:
  static constexpr std::size_t scratch_size = 64 * 1024;

  command_registry() : scratch_(std::make_unique<std::byte[]>(scratch_size)) {}

  std::byte* scratch() noexcept { return scratch_.get(); }
  const std::vector<running_command*>& commands() const noexcept { return commands_; }
  void add(running_command* entry) { commands_.push_back(entry); }
  void remove(running_command* entry) noexcept { std::erase(commands_, entry); }

 private:
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<running_command*> commands_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
