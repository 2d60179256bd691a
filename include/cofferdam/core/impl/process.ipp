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

class finished_process final : public process::implementation {
 public:
  explicit finished_process(command_result result);
  awaitable<output_chunk> read() override { co_return output_chunk(); }
  awaitable<void> write_input(bytes_view) override {
    throw error(exec_errc::io_error, "write_input: the command has ended",
                std::make_error_code(std::errc::broken_pipe));
    co_return;
  }
  awaitable<void> close_input() override { co_return; }
  awaitable<void> signal(int) override { co_return; }
  awaitable<void> resize(std::uint16_t, std::uint16_t) override;
  awaitable<command_result> wait() override { co_return result_; }
  awaitable<command_result> take_result() override { co_return std::move(result_); }

 private:
  command_result result_;
};

}  // namespace detail

COFFERDAM_DECL awaitable<void> process::implementation::resize(std::uint16_t, std::uint16_t) {
  throw error(exec_errc::unsupported, "resize: the command has no terminal; set terminal() on the command");
  co_return;
}

COFFERDAM_DECL awaitable<void> process::write_owned(implementation& running, bytes data) {
  co_await running.write_input(data);
}

COFFERDAM_DECL awaitable<void> process::resize(std::uint16_t rows, std::uint16_t columns) {
  if (rows == 0 || columns == 0)
    throw error(exec_errc::invalid_argument, "resize: a terminal must have at least one row and one column");
  return get().resize(rows, columns);
}

}  // namespace cofferdam::inline COFFERDAM_ABI

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL finished_process::finished_process(command_result result) : result_(std::move(result)) {}

COFFERDAM_DECL awaitable<void> finished_process::resize(std::uint16_t, std::uint16_t) { co_return; }

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL process process::finished(command_result result) {
  return process(std::make_unique<detail::finished_process>(std::move(result)));
}

}  // namespace cofferdam::inline COFFERDAM_ABI
