// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace program {

/// The size of a terminal in characters.
struct window_size {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

/// Returns the size of the terminal behind a descriptor; no value if it is no terminal or has no size.
std::optional<window_size> size_of_terminal(int descriptor);

/// Puts a terminal into raw mode for the lifetime of the object: each key is passed on as it is. The destructor,
/// `restore_terminal()` and std::terminate restore the terminal.
class raw_terminal {
 public:
  /// \throws std::system_error if the descriptor is no terminal.
  explicit raw_terminal(int descriptor);
  raw_terminal(const raw_terminal&) = delete;
  raw_terminal& operator=(const raw_terminal&) = delete;
  ~raw_terminal();
};

/// Returns true while a `raw_terminal` exists.
bool is_raw_terminal() noexcept;
/// Restores the terminal if it is in raw mode. May be called before the program ends without destructors.
void restore_terminal() noexcept;

/// Writes all of a text. Ignores errors.
void write_to_terminal(int descriptor, std::string_view text) noexcept;

}  // namespace program
