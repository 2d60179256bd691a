// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/trace_event.hpp>
#include <cofferdam/core/trace_file.hpp>
#include <cofferdam/core/warning.hpp>
#include <cofferdam/detail/core/without_sigpipe.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

class trace_file_state {
 public:
  explicit trace_file_state(std::filesystem::path path) : path_(std::move(path)) {}

  void append(const trace_event& event) {
    std::string line = event.json() + "\n";
    if (is_broken_.exchange(false)) line.insert(line.begin(), '\n');
    const int descriptor =
        ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, S_IRUSR | S_IWUSR);
    if (descriptor < 0) return warn_once(std::error_code(errno, std::system_category()).message());
    const ssize_t written = without_sigpipe([&] { return ::write(descriptor, line.data(), line.size()); });
    const int number = errno;
    ::close(descriptor);
    if (written < 0) return warn_once(std::error_code(number, std::system_category()).message());
    if (static_cast<std::size_t>(written) == line.size()) return;
    is_broken_ = true;
    warn_once("only a part of a line was written");
  }

  void warn_once(const std::string& reason) {
    if (has_warned_.exchange(true)) return;
    warn("trace_file: cannot write to \"" + one_line(path_.native()) + "\": " + reason + "; this event is lost");
  }

 private:
  std::filesystem::path path_;
  std::atomic<bool> is_broken_ = false;  ///< true if the file ends inside a line
  std::atomic<bool> has_warned_ = false;
};

}  // namespace detail

COFFERDAM_DECL trace_file::trace_file(std::filesystem::path path) {
  if (path.empty()) throw error(exec_errc::invalid_argument, "trace_file: the path is empty");
  state_ = std::make_shared<detail::trace_file_state>(std::move(path));
}

COFFERDAM_DECL void trace_file::operator()(const trace_event& event) const noexcept {
  if (!state_) return;  // moved from
  try {
    state_->append(event);
  } catch (const std::exception& failure) {  // no memory
    state_->warn_once(failure.what());
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI
