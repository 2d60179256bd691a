// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/process.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

namespace detail {

template <class = void>
class basic_finished_process;
using finished_process = basic_finished_process<>;

/// A process that has ended before it was returned.
template <class Unused>
class basic_finished_process final : public process::basic_implementation<Unused> {
 public:
  explicit basic_finished_process(command_result result) : result_(std::move(result)) {}
  awaitable<output_chunk> read() override { co_return output_chunk(); }
  awaitable<void> write_input(bytes_view) override {
    throw error(exec_errc::io_error, "write_input: the command has ended",
                std::make_error_code(std::errc::broken_pipe));
    co_return;
  }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int) override { co_return; }
  awaitable<void> resize(std::uint16_t, std::uint16_t) override { co_return; }
  awaitable<command_result> wait() override { co_return result_; }
  awaitable<command_result> take_result() override { co_return std::move(result_); }

 private:
  command_result result_;
};

}  // namespace detail

template <class Unused>
awaitable<void> process::basic_implementation<Unused>::resize(std::uint16_t, std::uint16_t) {
  throw error(exec_errc::unsupported, "resize: the command has no terminal; set terminal() on the command");
  co_return;
}

template <class>
awaitable<void> process::write_owned(implementation& running, bytes data) {
  co_await running.write_input(data);
}

template <class>
awaitable<void> process::resize(std::uint16_t rows, std::uint16_t columns) {
  if (rows == 0 || columns == 0)
    throw error(exec_errc::invalid_argument, "resize: a terminal must have at least one row and one column");
  return get().resize(rows, columns);
}

template <class>
process process::finished(command_result result) {
  return process(std::make_unique<detail::finished_process>(std::move(result)));
}

COFFERDAM_INSTANTIATE(class process::basic_implementation<void>)
COFFERDAM_INSTANTIATE(awaitable<void> process::write_owned<void>(implementation&, bytes))
COFFERDAM_INSTANTIATE(awaitable<void> process::resize<void>(std::uint16_t, std::uint16_t))
COFFERDAM_INSTANTIATE(process process::finished<void>(command_result))

}  // namespace cofferdam::inline COFFERDAM_ABI
