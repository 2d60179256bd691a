// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/version.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_homed_process;
using homed_process = basic_homed_process<>;

/// A process whose operations run on the strand of its environment. It can be used and destroyed on any executor.
template <class Unused>
class basic_homed_process final : public process::implementation {
 public:
  basic_homed_process(home_strand home, process running) : home_(std::move(home)), running_(std::move(running)) {}
  ~basic_homed_process() override {
    home_.run_soon([running = std::move(running_)]() mutable { const process ended(std::move(running)); });
  }

  awaitable<output_chunk> read() override {
    return home_.run([this] { return running_.read(); });
  }
  awaitable<void> write_input(bytes_view data) override {
    return home_.run([this, data] { return running_.write_input(data); });
  }
  awaitable<void> close_input() override {
    return home_.run([this] { return running_.close_input(); });
  }
  awaitable<void> signal(int number) override {
    return home_.run([this, number] { return running_.signal(number); });
  }
  awaitable<void> resize(std::uint16_t rows, std::uint16_t columns) override {
    return home_.run([this, rows, columns] { return running_.resize(rows, columns); });
  }
  awaitable<command_result> wait() override {
    return home_.run([this] { return running_.wait(); });
  }
  awaitable<command_result> take_result() override {
    return home_.run([this] { return std::move(running_).wait(); });
  }
  std::shared_ptr<const isolation_report> isolation() const override {
    return home_.look([this] { return running_.isolation(); });
  }

 private:
  home_strand home_;
  process running_;
};

/// Starts a process on a strand, and returns it in a form that can be used on any executor.
/// \param begin  a callable that returns the coroutine that starts the process.
template <class Begin>
awaitable<process> start_on(home_strand home, Begin begin) {
  process running = co_await home.run(std::move(begin));
  auto homed = std::make_unique<homed_process>(std::move(home), std::move(running));
  co_return process(std::move(homed));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
