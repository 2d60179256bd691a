// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// A process that a layer has wrapped: all operations are forwarded. A derived class overrides those that it changes.
class wrapped_process : public process::implementation {
 public:
  explicit wrapped_process(process inner) : inner_(std::move(inner)) {}

  awaitable<output_chunk> read() override { return inner_.read(); }
  awaitable<void> write_input(bytes_view data) override { return inner_.write_input(data); }
  awaitable<void> close_input() override { return inner_.close_input(); }
  awaitable<void> signal(int number) override { return inner_.signal(number); }
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override { return inner_.resize(rows, columns); }
  awaitable<command_result> wait() override { return inner_.wait(); }
  awaitable<command_result> take_result() override { return std::move(inner_).wait(); }
  std::shared_ptr<const isolation_report> isolation() const override { return inner_.isolation(); }

 private:
  process inner_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
