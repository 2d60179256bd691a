// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "terminal.hpp"

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace program {

namespace {

/// The terminal that is in raw mode, and its settings before.
class raw_state {
 public:
  int descriptor = -1;
  termios before{};
};

raw_state& state() noexcept {
  static raw_state raw;
  return raw;
}

}  // namespace

std::optional<window_size> size_of_terminal(int descriptor) {
  winsize found{};
  if (::ioctl(descriptor, TIOCGWINSZ, &found) != 0 || found.ws_row == 0 || found.ws_col == 0) return std::nullopt;
  window_size size;
  size.rows = found.ws_row;
  size.columns = found.ws_col;
  return size;
}

raw_terminal::raw_terminal(int descriptor) {
  termios settings{};
  if (::tcgetattr(descriptor, &settings) != 0)
    throw std::system_error(errno, std::generic_category(), "standard input is no terminal");
  state().before = settings;
  ::cfmakeraw(&settings);
  if (::tcsetattr(descriptor, TCSADRAIN, &settings) != 0)
    throw std::system_error(errno, std::generic_category(), "the terminal cannot be put into raw mode");
  state().descriptor = descriptor;
  std::set_terminate([] {
    restore_terminal();
    std::abort();
  });
}

raw_terminal::~raw_terminal() { restore_terminal(); }

bool is_raw_terminal() noexcept { return state().descriptor >= 0; }

void restore_terminal() noexcept {
  if (state().descriptor < 0) return;
  ::tcsetattr(state().descriptor, TCSADRAIN, &state().before);
  state().descriptor = -1;
}

void write_to_terminal(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t size = ::write(descriptor, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace program
