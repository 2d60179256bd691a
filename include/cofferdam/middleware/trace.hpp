// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/layer.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

/// The counters of the layer `trace`. They count the operations that were started, whether they succeeded or not.
/// \par Threads  any.
class operation_counts {
 public:
  /// Returns the number of commands that were passed to `run_command` or `start`.
  std::uint64_t commands() const noexcept { return commands_; }
  /// Returns the number of `read_file` calls.
  std::uint64_t reads() const noexcept { return reads_; }
  /// Returns the number of `write_file` calls.
  std::uint64_t writes() const noexcept { return writes_; }
  /// Returns the number of operations on the `file_system` that `files()` returned.
  std::uint64_t file_operations() const noexcept { return file_operations_; }

  /// Counts a command. The layer calls this.
  void add_command() noexcept { ++commands_; }
  /// Counts a `read_file` call. The layer calls this.
  void add_read() noexcept { ++reads_; }
  /// Counts a `write_file` call. The layer calls this.
  void add_write() noexcept { ++writes_; }
  /// Counts an operation on files. The layer calls this.
  void add_file_operation() noexcept { ++file_operations_; }

 private:
  std::atomic<std::uint64_t> commands_ = 0;
  std::atomic<std::uint64_t> reads_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;
  std::atomic<std::uint64_t> file_operations_ = 0;
};

namespace detail {

/// File operations that count each call.
class traced_files final : public file_system_adaptor<traced_files> {
 public:
  traced_files(file_system files, std::shared_ptr<operation_counts> counts)
      : files_(std::move(files)), counts_(std::move(counts)) {}

  template <class Operation>
  auto call(Operation operation) {
    counts_->add_file_operation();
    return operation(std::as_const(files_));
  }

 private:
  file_system files_;
  std::shared_ptr<operation_counts> counts_;
};

}  // namespace detail

/// The environment type that `provider | trace(counts)` opens.
template <code_exec_environment Inner>
class trace_layer : public layer<trace_layer<Inner>, Inner> {
 public:
  /// Makes a layer without an environment. Operations throw `error{exec_errc::environment_closed}`.
  trace_layer()
    requires std::default_initializable<Inner>
  = default;
  /// Wraps an open environment, which the layer then owns, and counts its operations in `counts`.
  trace_layer(Inner inner, std::shared_ptr<operation_counts> counts)
      : layer<trace_layer<Inner>, Inner>(std::move(inner)), counts_(std::move(counts)) {}

  std::optional<command_result> admit(command&) {
    counts().add_command();
    return std::nullopt;
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    counts().add_read();
    return this->inner().read_file(std::move(path), max_bytes);
  }
  awaitable<void> write_file(std::string path, bytes_view content) {
    counts().add_write();
    return this->inner().write_file(std::move(path), content);
  }
  /// Writes a file from temporary bytes. The awaitable owns the bytes, so it can be stored and awaited later.
  template <std::same_as<bytes> Bytes>
  awaitable<void> write_file(std::string path, Bytes&& content) {
    return cofferdam::write_bytes(*this, std::move(path), std::move(content));
  }

  file_system files()
    requires file_environment<Inner>
  {
    counts();  // throws if there is no environment
    return file_system(std::make_shared<detail::traced_files>(this->inner().files(), counts_));
  }

 private:
  operation_counts& counts() const {
    if (!counts_)
      throw error(exec_errc::environment_closed,
                  "trace: not open (default-constructed or moved from); call open() on the provider first");
    return *counts_;
  }

  std::shared_ptr<operation_counts> counts_;
};

/// Counts the operations of all environments that a provider opens: `provider | trace(counts)`. A layer to the right
/// receives a command first. If that layer refuses the command, the command is not counted.
/// \par Cost  1 atomic addition for each operation; 1 allocation for each call of `files()`.
class trace : public pipeable {
 public:
  /// Makes the recipe, the object on the right of `provider | trace(counts)`.
  /// \param counts  the counters, which all environments share.
  /// \throws error{exec_errc::invalid_argument} if `counts` is null.
  explicit trace(std::shared_ptr<operation_counts> counts) : counts_(std::move(counts)) {
    if (!counts_) throw error(exec_errc::invalid_argument, "trace: the pointer to the counts is null");
  }

  template <code_exec_environment Inner>
  trace_layer<Inner> attach(Inner inner) const {
    return trace_layer<Inner>(std::move(inner), counts_);
  }

 private:
  std::shared_ptr<operation_counts> counts_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI
