// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/net/deadline_timer.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/network/detail/egress_state.hpp>
#include <cofferdam/network/network_event.hpp>

#include <asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The limits of one connection of a command. Counts the bytes, and closes the streams when a time limit expires.
class connection_watch {
 public:
  connection_watch(const asio::any_io_executor& executor, const egress_state& state, byte_stream& guest)
      : idle_time_(state.idle_time()),
        max_bytes_(state.max_bytes()),
        guest_(guest),
        idle_(executor, [this] { end("it was idle for longer than the limit"); }),
        total_(executor, [this] { end("it was open for longer than the limit"); }) {
    idle_.arm(idle_time_);
    total_.arm(state.total_time());
  }
  connection_watch(const connection_watch&) = delete;
  connection_watch& operator=(const connection_watch&) = delete;

  /// Sets the stream to the host, which is closed together with the guest's; null for none.
  void upstream(byte_stream* stream) noexcept { upstream_ = stream; }

  void sent_up(std::size_t count) { add(up_, count); }
  void sent_down(std::size_t count) { add(down_, count); }
  /// Adds the counted bytes to an event, and begins to count from 0.
  void move_counts(network_event& event) noexcept { event.count(std::exchange(up_, 0), std::exchange(down_, 0)); }

  void close() noexcept {
    guest_.close();
    if (upstream_ != nullptr) upstream_->close();
  }
  /// Returns the reason why this object has closed the streams; empty if it has not.
  const std::string& reason() const noexcept { return reason_; }

 private:
  void add(std::uint64_t& counter, std::size_t count) {
    counter += count;
    all_ += count;
    idle_.arm(idle_time_);
    if (all_ <= max_bytes_) return;
    end("it has transferred more bytes than the limit");
    throw error(exec_errc::io_error, reason_, net_errc::connection_lost);
  }
  void end(const char* why) {
    if (reason_.empty()) reason_ = std::string("The network policy has closed the connection: ") + why + ".";
    close();
  }

  std::chrono::milliseconds idle_time_;
  std::uint64_t max_bytes_;
  std::uint64_t up_ = 0;
  std::uint64_t down_ = 0;
  std::uint64_t all_ = 0;
  byte_stream& guest_;
  byte_stream* upstream_ = nullptr;
  std::string reason_;
  deadline_timer idle_;
  deadline_timer total_;
};

/// The events of one connection of a command. At most one connection to a host is open at a time.
class connection_record {
 public:
  connection_record(const egress_state& state, connection_watch& watch) : state_(state), watch_(watch) {}
  connection_record(const connection_record&) = delete;
  connection_record& operator=(const connection_record&) = delete;

  void label(std::string text) { label_ = std::move(text); }

  /// Reports a refusal.
  /// \param where  null if the request could not be read.
  void refused(const host_and_number* where, const std::string& sentence) const {
    network_event event = fresh(where);
    event.reason(sentence);
    state_.report(event);
  }
  /// Begins the event of a connection that a rule allows.
  void begin(const host_and_number& where, const host_rule& rule) {
    end("");
    event_ = fresh(&where);
    event_.allowed_by(rule.place());
    open_ = true;
  }
  void address(std::string text) { event_.address(std::move(text)); }
  /// Ends the event that has begun, and reports it. Does nothing if no event has begun.
  /// \param failure  the reason, if the connection has failed. A limit that has closed the connection comes first.
  void end(std::string failure) {
    if (!std::exchange(open_, false)) return;
    watch_.move_counts(event_);
    if (!watch_.reason().empty()) failure = watch_.reason();
    event_.reason(std::move(failure));
    state_.report(event_);
  }

 private:
  network_event fresh(const host_and_number* where) const {
    network_event event;
    event.when(std::chrono::system_clock::now()).label(label_);
    if (where != nullptr) event.requested(where->host.text(), where->port);
    return event;
  }

  const egress_state& state_;
  connection_watch& watch_;
  std::string label_;
  network_event event_;
  bool open_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
