// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/middleware/detail/trace_state.hpp>
#include <cofferdam/middleware/detail/wrapped_process.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_traced_process;
using traced_process = basic_traced_process<>;

/// A process whose event is reported when its result is known, or when it is destroyed.
template <class Unused>
class basic_traced_process final : public wrapped_process {
 public:
  basic_traced_process(process inner, pending_event event)
      : wrapped_process(std::move(inner)), event_(std::move(event)) {}

  awaitable<command_result> wait() override { return report(wrapped_process::wait(), event_); }
  awaitable<command_result> take_result() override { return report(wrapped_process::take_result(), event_); }

 private:
  /// \param event  a member of the process, which exists until the awaitable completes.
  template <class = void>
  static awaitable<command_result> report(awaitable<command_result> waits, pending_event& event) {
    try {
      command_result result = co_await std::move(waits);
      event.end(result);
      co_return result;
    } catch (...) {
      event.fail(std::current_exception());
      throw;
    }
  }

  pending_event event_;
};

template <class = void>
class basic_traced_source;
using traced_source = basic_traced_source<>;

/// A source of files whose event is reported when all files were read, or when it is destroyed.
template <class Unused>
class basic_traced_source final : public file_source {
 public:
  basic_traced_source(std::unique_ptr<file_source> inner, pending_event event)
      : inner_(std::move(inner)), event_(std::move(event)) {}
  ~basic_traced_source() override { end(); }

  awaitable<std::optional<file_header>> next() override { return report_next(*this); }
  awaitable<bytes> read(std::size_t max_bytes) override { return report_read(*this, max_bytes); }
  std::optional<file_range> take_range() override {
    std::optional<file_range> range = inner_->take_range();
    if (range) sum_ += range->size();
    return range;
  }

 private:
  template <class = void>
  static awaitable<std::optional<file_header>> report_next(basic_traced_source& self) {
    try {
      std::optional<file_header> header = co_await self.inner_->next();
      self.count(header);
      co_return header;
    } catch (...) {
      self.event_.fail(std::current_exception());
      throw;
    }
  }
  template <class = void>
  static awaitable<bytes> report_read(basic_traced_source& self, std::size_t max_bytes) {
    try {
      bytes piece = co_await self.inner_->read(max_bytes);
      self.sum_ += piece.size();
      co_return piece;
    } catch (...) {
      self.event_.fail(std::current_exception());
      throw;
    }
  }

  void count(const std::optional<file_header>& header) {
    if (!header) return end();
    if (header->failure()) {
      ++failed_;
      if (failed_ == 1) event_.event().fail(std::make_exception_ptr(*header->failure()));
    } else {
      ++count_;
    }
  }

  void end() noexcept {
    try {
      trace_event& event = event_.event();
      event.set("cofferdam.file.count", count_of(count_)).set("cofferdam.transfer.bytes", count_of(sum_));
      if (failed_ != 0) event.set("cofferdam.file.failed", count_of(failed_));
    } catch (const std::exception&) {
      return;  // no memory: the destructor of the event reports it
    }
    event_.end();
  }

  std::unique_ptr<file_source> inner_;
  pending_event event_;
  std::uint64_t count_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t sum_ = 0;
};

/// Begins a transfer of files out of an environment.
/// \param make  a callable without parameters that starts the transfer and returns its awaitable.
template <class Make>
awaitable<std::unique_ptr<file_source>> begin_source(std::shared_ptr<const trace_state> state, trace_event event,
                                                     Make make) {
  pending_event pending(std::move(state), std::move(event));
  try {
    std::unique_ptr<file_source> source = co_await make();
    if (source) source = std::make_unique<traced_source>(std::move(source), std::move(pending));
    pending.end();  // if there is no source
    co_return source;
  } catch (...) {
    pending.fail(std::current_exception());
    throw;
  }
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
