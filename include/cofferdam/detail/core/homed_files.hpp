// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/code_exec_provider.hpp>
#include <cofferdam/core/directory_watch.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/detail/core/homed_source.hpp>
#include <cofferdam/version.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The file operations of an environment, which all run on the environment's strand. The object does not keep the
/// environment's state alive. `State` has `home()`, its strand, and `static auto with_files(std::shared_ptr<State>
/// state, Operation operation)`, which starts an operation as `file_system_adaptor` describes.
template <class State>
class homed_files final : public file_system_adaptor<homed_files<State>> {
 public:
  explicit homed_files(const std::shared_ptr<State>& state) : state_(state) {}

  template <class Operation>
  auto call(Operation operation) {
    const std::shared_ptr<State> state = get();
    auto work = [state, operation = std::move(operation)] { return State::with_files(state, operation); };
    using result = typename awaited<std::invoke_result_t<decltype(work)&>>::type;
    if constexpr (std::is_same_v<result, std::unique_ptr<file_source>>) {
      return get_on(state->home(), std::move(work));
    } else if constexpr (std::is_same_v<result, directory_watch>) {
      return watch_on(state->home(), std::move(work));
    } else {
      return state->home().run(std::move(work));
    }
  }

  awaitable<transfer_result> put_files(file_source& source) override {
    const std::shared_ptr<State> state = get();
    return put_on(state->home(), source, [state](file_source& lent) {
      return State::with_files(state, [&lent](auto& files) { return files.put_files(lent); });
    });
  }

 private:
  std::shared_ptr<State> get() const {
    std::shared_ptr<State> state = state_.lock();
    if (!state) throw error(exec_errc::environment_closed, "files: the environment is closed; open another one");
    return state;
  }

  std::weak_ptr<State> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
