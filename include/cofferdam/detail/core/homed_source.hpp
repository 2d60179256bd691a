// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_homed_source;
using homed_source = basic_homed_source<>;

/// A source of files from an environment, which are read on the environment's strand. It can be used and destroyed on
/// any executor.
template <class Unused>
class basic_homed_source final : public file_source {
 public:
  basic_homed_source(home_strand home, std::unique_ptr<file_source> inner)
      : home_(std::move(home)), inner_(std::move(inner)) {}
  ~basic_homed_source() override {
    home_.run_soon([inner = std::move(inner_)]() mutable { inner.reset(); });
  }
  awaitable<std::optional<file_header>> next() override {
    return home_.run([this] { return inner_->next(); });
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    return home_.run([this, max_bytes] { return inner_->read(max_bytes); });
  }

 private:
  home_strand home_;
  std::unique_ptr<file_source> inner_;
};

template <class = void>
class basic_lent_source;
using lent_source = basic_lent_source<>;

/// A source that lends the caller's source to a coroutine, which may run on another executor. The caller's source is
/// still used on the caller's executor only.
template <class Unused>
class basic_lent_source final : public file_source {
 public:
  /// Refers to the caller's source.
  /// \param lender  the caller's executor, as a strand.
  basic_lent_source(file_source& source, asio::any_io_executor lender) : source_(source), lender_(std::move(lender)) {}
  awaitable<std::optional<file_header>> next() override {
    return run_on(lender_, [this] { return source_.next(); });
  }
  awaitable<bytes> read(std::size_t max_bytes) override {
    return run_on(lender_, [this, max_bytes] { return source_.read(max_bytes); });
  }
  /// This function runs on the executor of that coroutine. That is safe, because no other operation on the source runs
  /// at the same time.
  std::optional<file_range> take_range() override { return source_.take_range(); }

 private:
  file_source& source_;
  asio::any_io_executor lender_;
};

/// Calls `put` with a source that lends it the caller's source. The caller's source is used on a strand of the caller's
/// executor, because it may start work of its own.
/// \param put  a callable that takes a `file_source&` and returns the coroutine that writes its files.
template <class Put>
awaitable<transfer_result> put_lent(file_source& source, Put put) {
  asio::any_io_executor caller = co_await asio::this_coro::executor;
  lent_source lent(source, strand_of(std::move(caller)));
  transfer_result report = co_await put(lent);
  co_return report;
}

/// The same, but `put` runs on `home`, the environment's strand.
template <class Put>
awaitable<transfer_result> put_on(home_strand home, file_source& source, Put put) {
  return put_lent(source, [home = std::move(home), put = std::move(put)](file_source& lent) {
    return home.run([&put, &lent] { return put(lent); });
  });
}

/// Fetches files on a strand, and returns them as a source that can be used on any executor.
/// \param get  a callable that returns the coroutine that fetches the files.
template <class Get>
awaitable<std::unique_ptr<file_source>> get_on(home_strand home, Get get) {
  std::unique_ptr<file_source> inner = co_await home.run(std::move(get));
  std::unique_ptr<file_source> homed = std::make_unique<homed_source>(std::move(home), std::move(inner));
  co_return homed;
}

template <class = void>
class basic_homed_watch;
using homed_watch = basic_homed_watch<>;

/// A watch that works on the environment's strand. It can be used and destroyed on any executor.
template <class Unused>
class basic_homed_watch final : public directory_watch::implementation {
 public:
  basic_homed_watch(home_strand home, directory_watch inner) : home_(std::move(home)), inner_(std::move(inner)) {}
  ~basic_homed_watch() override {
    home_.run_soon([inner = std::move(inner_)]() mutable { inner = directory_watch(); });
  }
  awaitable<std::vector<file_change>> next(std::optional<std::chrono::milliseconds> limit) override {
    return home_.run([this, limit] { return limit ? inner_.next(*limit) : inner_.next(); });
  }
  bool lists() const noexcept override { return inner_.lists(); }

 private:
  home_strand home_;
  directory_watch inner_;
};

/// Begins a watch on a strand, and returns it as a watch that can be used on any executor; empty if the files cannot be
/// watched.
/// \param begin  a callable that returns the coroutine that begins the watch.
template <class Begin>
awaitable<directory_watch> watch_on(home_strand home, Begin begin) {
  directory_watch inner = co_await home.run(std::move(begin));
  if (!inner) co_return inner;
  co_return directory_watch(std::make_unique<homed_watch>(std::move(home), std::move(inner)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
