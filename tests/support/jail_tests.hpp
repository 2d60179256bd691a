// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/core/with.hpp>

#include "support/run.hpp"
#include "support/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace cofferdam_test {

/// Returns true if this machine can build a jail: bubblewrap is installed, and user namespaces are allowed.
inline bool has_jail() {
  static const bool works =
      std::system("bwrap --unshare-user --disable-userns --unshare-pid --unshare-net --ro-bind / / true 2>/dev/null") ==
      0;
  return works;
}

/// A folder that other users can enter, as a jail of root needs it.
class open_folder : public temporary_folder {
 public:
  open_folder() { ::chmod(path().c_str(), 0755); }

  /// Makes a folder that the user of a jail can write to.
  std::filesystem::path make_shared_folder(std::string_view name) const {
    std::filesystem::path made = make_folder(name);
    ::chmod(made.c_str(), ::geteuid() == 0 ? 0777 : 0755);
    return made;
  }
};

/// Opens an environment of `recipe`, runs one command in it, and closes it.
template <class Recipe>
cofferdam::command_result result_of(const Recipe& recipe, cofferdam::command c) {
  return run([&]() -> cofferdam::awaitable<cofferdam::command_result> {
    auto body = [&](auto& env) -> cofferdam::awaitable<cofferdam::command_result> {
      cofferdam::command_result result = co_await env.run_command(std::move(c));
      co_return result;
    };
    cofferdam::command_result result = co_await cofferdam::with(recipe, body);
    co_return result;
  });
}

}  // namespace cofferdam_test
