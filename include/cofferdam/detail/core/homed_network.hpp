// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/listener.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/core/listening.hpp>
#include <cofferdam/detail/core/proxy_setup.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

template <class = void>
class basic_homed_stream;
using homed_stream = basic_homed_stream<>;

/// A stream whose operations run on the strand of an environment. The caller may be on any executor.
template <class Unused>
class basic_homed_stream final : public byte_stream::implementation {
 public:
  basic_homed_stream(home_strand home, byte_stream stream)
      : home_(std::move(home)), stream_(std::make_shared<byte_stream>(std::move(stream))) {}
  ~basic_homed_stream() override {
    home_.run_soon([stream = std::move(stream_)] { stream->close(); });
  }

  awaitable<std::size_t> read_some(std::span<std::byte> into) override {
    return home_.run([stream = stream_, into] { return stream->read_some(into); });
  }
  awaitable<void> write(bytes_view data) override {
    return home_.run([stream = stream_, data] { return stream->write(data); });
  }
  awaitable<void> shutdown_send() override {
    return home_.run([stream = stream_] { return stream->shutdown_send(); });
  }
  void close() noexcept override {
    home_.run_soon([stream = stream_] { stream->close(); });
  }
  bool is_quiet() noexcept override {
    return home_.look([this] { return stream_->is_quiet(); });
  }

 private:
  home_strand home_;
  std::shared_ptr<byte_stream> stream_;
};

template <class = void>
class basic_homed_listening;
using homed_listening = basic_homed_listening<>;

/// A listener whose operations run on the strand of an environment.
template <class Unused>
class basic_homed_listening final : public listening {
 public:
  basic_homed_listening(home_strand home, listener open)
      : home_(std::move(home)), listener_(std::make_shared<listener>(std::move(open))) {
    name_ = listener_->name();
    port_ = listener_->port();
    loopback_ = listener_->is_loopback();
  }
  ~basic_homed_listening() override {
    home_.run_soon([open = std::move(listener_)] { open->close(); });
  }

  awaitable<byte_stream> accept() override { return accept_at(home_, listener_); }
  void close() noexcept override {
    home_.run_soon([open = listener_] { open->close(); });
  }

 private:
  static awaitable<byte_stream> accept_at(home_strand home, std::shared_ptr<listener> open) {
    const auto accepts = [open] { return open->accept(); };
    byte_stream accepted = co_await home.run(accepts);
    co_return byte_stream(std::make_unique<homed_stream>(std::move(home), std::move(accepted)));
  }

  home_strand home_;
  std::shared_ptr<listener> listener_;
};

/// The `guest_network` of an environment, whose operations run on the environment's strand. The object does not keep
/// the environment's state alive. `State` has `home()`, its strand, `static awaitable<guest_network>
/// network(std::shared_ptr<State> state)`, a coroutine that runs on that strand, and what `proxy_setup` needs. It may
/// have `static awaitable<std::string> enforced_policy(std::shared_ptr<State> state)`, which runs there too.
template <class State>
class homed_network final : public guest_network::implementation {
 public:
  explicit homed_network(const std::shared_ptr<State>& state) : state_(state) {}

  awaitable<byte_stream> connect(std::uint16_t port) override { return connect_at(get(), port); }
  awaitable<listener> listen(std::uint16_t port) override { return listen_at(get(), port); }
  awaitable<std::uint32_t> other_interfaces() override {
    const std::shared_ptr<State> state = get();
    return state->home().run([state] { return count_in(state); });
  }
  awaitable<std::string> enforced_policy() override {
    const std::shared_ptr<State> state = get();
    return state->home().run([state] { return policy_of(state); });
  }

  awaitable<void> use_proxy(std::uint16_t port, std::string authority) override {
    const std::shared_ptr<State> state = get();
    return state->home().run([state, port, authority = std::move(authority)]() mutable {
      return proxy_setup<State>::run(state, port, std::move(authority));
    });
  }

 private:
  std::shared_ptr<State> get() const {
    std::shared_ptr<State> state = state_.lock();
    if (!state) throw error(exec_errc::environment_closed, "network: the environment is closed; open another one");
    return state;
  }

  static awaitable<byte_stream> connect_at(std::shared_ptr<State> state, std::uint16_t port) {
    home_strand home = state->home();
    const auto connects = [state, port] { return connect_in(state, port); };
    byte_stream made = co_await home.run(connects);
    co_return byte_stream(std::make_unique<homed_stream>(std::move(home), std::move(made)));
  }
  static awaitable<listener> listen_at(std::shared_ptr<State> state, std::uint16_t port) {
    home_strand home = state->home();
    const auto listens = [state, port] { return listen_in(state, port); };
    listener made = co_await home.run(listens);
    co_return listener(std::make_unique<homed_listening>(std::move(home), std::move(made)));
  }

  // These run on the strand.
  static awaitable<byte_stream> connect_in(std::shared_ptr<State> state, std::uint16_t port) {
    const guest_network network = co_await State::network(std::move(state));
    byte_stream made = co_await network.connect(port);
    co_return made;
  }
  static awaitable<listener> listen_in(std::shared_ptr<State> state, std::uint16_t port) {
    const guest_network network = co_await State::network(std::move(state));
    listener made = co_await network.listen(port);
    co_return made;
  }
  static awaitable<std::uint32_t> count_in(std::shared_ptr<State> state) {
    const guest_network network = co_await State::network(std::move(state));
    const std::uint32_t count = co_await network.other_interfaces();
    co_return count;
  }
  static awaitable<std::string> policy_of(std::shared_ptr<State> state) {
    std::string found;
    if constexpr (requires { State::enforced_policy(state); }) found = co_await State::enforced_policy(state);
    co_return found;
  }

  std::weak_ptr<State> state_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
