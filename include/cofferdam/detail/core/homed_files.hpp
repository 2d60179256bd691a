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
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/homed_source.hpp>
#include <cofferdam/version.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Keeps the state of an environment in a coroutine on any executor, and releases it as `home_strand::run_soon` runs a
/// job. The strand must have a gate.
template <class State>
class homed_state {
 public:
  explicit homed_state(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
  homed_state(homed_state&&) noexcept = default;
  homed_state& operator=(homed_state&&) = delete;
  ~homed_state() {
    if (!state_) return;
    const home_strand home = state_->home();
    home.run_soon([state = std::move(state_)] {});
  }
  State* operator->() const noexcept { return state_.get(); }

 private:
  std::shared_ptr<State> state_;
};

/// The state of an environment whose files can be used on any executor if the strand has a gate: `shared_files()`
/// returns them.
template <class State>
concept has_shared_files = requires(State& state) { state.shared_files(); };

/// Returns true if the files of an environment can be used on any executor.
template <class State>
bool shares_files(const State& state) noexcept {
  return has_shared_files<State> && state.home().has_gate();
}

/// Returns a callable that starts an operation on the files of an environment. It is called on the strand.
template <class State, class Operation>
auto work_on_files(std::shared_ptr<State> state, Operation operation) {
  return [state = std::move(state), operation = std::move(operation)] { return State::with_files(state, operation); };
}

/// Runs an operation on the files of an environment: on the caller's executor if the files can be used there, and
/// otherwise on the strand. `State` has `home()`, its strand, and `static auto with_files(std::shared_ptr<State> state,
/// Operation operation)`, which starts an operation as `file_system_adaptor` describes.
template <class State, class Operation>
auto run_on_files(std::shared_ptr<State> state, Operation operation) {
  if constexpr (has_shared_files<State>) {
    if (shares_files(*state)) {
      auto work = [operation = std::move(operation)](homed_state<State>& kept) {
        return operation(kept->shared_files());
      };
      return on_kept(homed_state<State>(std::move(state)), std::move(work));
    }
  }
  const home_strand& home = state->home();
  return home.run(work_on_files(std::move(state), std::move(operation)));
}

/// The file operations of an environment. The object does not keep the environment's state alive. `State` is described
/// at `run_on_files`.
template <class State>
class homed_files final : public file_system_adaptor<homed_files<State>> {
 public:
  explicit homed_files(const std::shared_ptr<State>& state) : state_(state) {}

  template <class Operation>
  auto call(Operation operation) {
    std::shared_ptr<State> state = get();
    using result = typename awaited<std::invoke_result_t<const Operation&, file_system&>>::type;
    if constexpr (std::is_same_v<result, directory_watch>) {
      return watch_on(state->home(), work_on_files(state, std::move(operation)));
    } else {
      if constexpr (std::is_same_v<result, std::unique_ptr<file_source>>)
        if (!shares_files(*state)) return get_on(state->home(), work_on_files(state, std::move(operation)));
      return run_on_files(std::move(state), std::move(operation));
    }
  }

  awaitable<transfer_result> put_files(file_source& source) override {
    std::shared_ptr<State> state = get();
    if (shares_files(*state)) {
      return put_lent(source, [state](file_source& lent) {
        return run_on_files(state, [&lent](auto& files) { return files.put_files(lent); });
      });
    }
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
