// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/listener.hpp>

#include <cstdint>

namespace cofferdam::inline COFFERDAM_ABI {

/// Serves a port of an environment at a listener of this program:
///
///     listener here = tcp_listener(executor, "127.0.0.1", 8080);
///     co_await forward_port(environment.network(), 8000, std::move(here));
///
/// Each connection to the listener is connected to the port of the environment. If nothing listens there, the
/// connection is closed. The awaitable completes when it is cancelled or when the environment has ended, so run it
/// beside other work, for example with Asio's `awaitable_operators`.
/// \param network  the network of the environment.
/// \param port  the port of the server in the environment, not 0.
/// \param at  the listener, which this function closes at its end.
/// \throws error{exec_errc::invalid_argument} for the port 0; the error that ended the listener.
/// \par Cancellation  terminal: closes the listener and all connections, and throws error{exec_errc::cancelled}.
template <class = void>
awaitable<void> forward_port(guest_network network, std::uint16_t port, listener at);

}  // namespace cofferdam::inline COFFERDAM_ABI

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/network/impl/forward_port.ipp>
#endif
