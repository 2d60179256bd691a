// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// As in file_operations.hpp: the environment's own member where there is one, else one file at a time by read_file and
// write_file, and by commands for what those cannot do. A layer always has the members.

namespace cofferdam::inline v0 {

namespace detail {

/// The largest file for an environment that takes and gives files only whole: it passes through memory.
inline constexpr std::size_t largest_whole_file = std::size_t{256} * 1024 * 1024;

/// The piece that files are moved in.
inline constexpr std::size_t file_piece = 256 * 1024;

/// Whether a failure is that of the whole transfer and not of one file.
inline bool ends_transfer(const error& failure) noexcept {
  return failure.code() == errc::cancelled || failure.code() == errc::environment_closed ||
         failure.code() == errc::provider_lost;
}

/// Takes the files of a source one after another: reports each failure and goes on.
/// \param put  `awaitable<transferred_file>(const file_header&)`: puts one, whose content the source now gives.
template <class Put>
awaitable<transfer> put_each(file_source& source, Put put) {
  transfer report;
  for (;;) {
    const std::optional<file_header> header = co_await source.next();
    if (!header) co_return report;
    std::optional<error> failure = header->failure();
    if (!failure) {
      try {
        transferred_file done = co_await put(*header);
        report.add(std::move(done));
      } catch (const error& reason) {
        if (ends_transfer(reason)) throw;
        failure = reason;
      }
    }
    if (failure) report.add(failed_file(header->source(), std::move(*failure)));
  }
}

/// Sets a mode that has an x bit. The operations of an environment have none for it, so this is a command.
template <class E>
awaitable<void> make_executable(E& environment, std::string path, unsigned mode) {
  std::string digits;
  for (int shift = 6; shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((mode >> shift) & 7U));
  command change = argv("chmod", digits, "./" + path);
  command_result result = co_await environment.run_command(std::move(change));
  if (result.ok()) co_return;
  std::string why = one_line(result.err().text());
  if (why.empty()) why = result.reason();
  throw error(errc::permission_denied,
              "put " + shown_path(path) + ": the file is there, but could not be made executable: " + why);
}

template <class E>
awaitable<transferred_file> put_whole(E& environment, file_source& source, const file_header& header) {
  const std::string path = workspace_path(header.destination());
  if (header.type() == file_type::directory) {
    co_await make_directory(environment, path);
    co_return transferred_file(header.source(), path, 0);
  }
  bytes content;
  for (;;) {
    const bytes piece = co_await source.read(file_piece);
    if (piece.empty()) break;
    if (piece.size() > largest_whole_file - content.size())
      throw error(errc::too_large, "put " + shown_path(header.source()) + ": longer than " +
                                       std::to_string(largest_whole_file) +
                                       " bytes, the most for an environment that takes files only whole");
    content.insert(content.end(), piece.begin(), piece.end());
  }
  const bytes_view view(content);
  co_await environment.write_file(path, view);
  constexpr unsigned executable = 0111;
  if ((header.mode() & executable) != 0) co_await make_executable(environment, path, header.mode() & 0777U);
  co_return transferred_file(header.source(), path, content.size());
}

template <class E>
awaitable<transfer> put_one_by_one(E& environment, file_source& source) {
  return put_each(
      source, [&environment, &source](const file_header& header) { return put_whole(environment, source, header); });
}

/// Files of an environment that gives them only whole.
template <class E>
class whole_file_source final : public file_source {
 public:
  whole_file_source(E& environment, std::vector<file_request> requests)
      : environment_(environment), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    content_.clear();
    sent_ = 0;
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& wanted = requests_[at_++];
    std::optional<file_header> header;
    try {
      const entry found = co_await stat(environment_, wanted.path());
      content_ = co_await environment_.read_file(wanted.path(), largest_whole_file);
      // A link's own bits say nothing of the file behind it.
      const unsigned mode = found.type() == file_type::symlink ? 0644U : found.mode();
      header.emplace(wanted.path(), wanted.destination(), file_type::regular, content_.size(), mode);
    } catch (const error& failure) {
      if (ends_transfer(failure)) throw;
      header.emplace(wanted.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t most) override {
    const std::size_t count = std::min(most, content_.size() - sent_);
    const auto start = content_.begin() + static_cast<std::ptrdiff_t>(sent_);
    sent_ += count;
    co_return bytes(start, start + static_cast<std::ptrdiff_t>(count));
  }

 private:
  E& environment_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  bytes content_;
  std::size_t sent_ = 0;
};

template <class E>
awaitable<std::unique_ptr<file_source>> get_one_by_one(E& environment, std::vector<file_request> requests) {
  co_return std::make_unique<whole_file_source<E>>(environment, std::move(requests));
}

}  // namespace detail

/// Writes everything a source has into an environment, in one trip where it can; else one file of at most 256 MiB at a
/// time, with modes that have an x bit set by `chmod`. Reports each failure and goes on.
/// \param environment, source  kept by the caller until the awaitable completes.
/// \throws error{errc::cancelled}, error{errc::environment_closed}, error{errc::provider_lost}.
template <code_exec_environment E>
awaitable<transfer> put_files(E& environment, file_source& source) {
  if constexpr (requires { environment.put_files(source); }) {
    return environment.put_files(source);
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost put_files(): write it beside write_file");
    return detail::put_one_by_one(environment, source);
  }
}

/// Regular files of an environment, as a source that must not outlive it: streamed where the environment can, else one
/// whole file of at most 256 MiB at a time.
template <code_exec_environment E>
awaitable<std::unique_ptr<file_source>> get_files(E& environment, std::vector<file_request> requests) {
  if constexpr (requires { environment.get_files(std::move(requests)); }) {
    return environment.get_files(std::move(requests));
  } else {
    static_assert(!detail::is_layer<E>, "cofferdam: this layer lost get_files(): write it beside read_file");
    return detail::get_one_by_one(environment, std::move(requests));
  }
}

}  // namespace cofferdam::inline v0
