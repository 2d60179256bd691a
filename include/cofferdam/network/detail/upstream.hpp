// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/net/net_error.hpp>
#include <cofferdam/network/detail/buffered_stream.hpp>
#include <cofferdam/network/detail/connection_watch.hpp>
#include <cofferdam/network/detail/egress_state.hpp>
#include <cofferdam/network/detail/host_name.hpp>

#include <exception>
#include <string>
#include <system_error>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The reason why a connection to a host failed.
class upstream_failure {
 public:
  int status = 0;  ///< the status of an answer: 403, 502 or 504; 0 if the connection is open
  std::error_code cause;
  std::string sentence;
};

/// Connects `upstream` to a host that a rule allows, and begins the event of the connection.
/// \param rule  the rule that allows the host; it lives as long as `state`.
/// \param tls   true to begin TLS and to verify the server's certificate.
/// \throws error{exec_errc::cancelled} if the coroutine is cancelled.
template <class = void>
awaitable<upstream_failure> connect_upstream(egress_state& state, host_and_number where, const host_rule* rule,
                                             bool tls, buffered_stream& upstream, connection_watch& watch,
                                             connection_record& record) {
  record.begin(where, *rule);
  upstream_failure failure;
  try {
    upstream_connection made = co_await state.connect(where, rule, tls, state.opening_due());
    upstream = buffered_stream(std::move(made.stream));
    watch.upstream(&upstream.stream());
    record.address(std::move(made.address));
    co_return failure;
  } catch (const egress_refusal& refused) {
    failure.status = 403;
    failure.sentence = refused.what();
  } catch (const error& failed) {
    if (failed.code() == exec_errc::cancelled) throw;
    failure.status = failed.cause() == net_errc::timed_out ? 504 : 502;
    failure.cause = failed.cause();
    failure.sentence = failed.what();
  } catch (const std::exception& failed) {  // of the policy's resolver
    failure.status = 502;
    failure.sentence = "The name " + where.host.text() + " cannot be resolved: " + one_line(failed.what());
  }
  record.end(failure.sentence);
  co_return failure;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
