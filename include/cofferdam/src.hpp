// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The compiled mode: one file of the program includes this. Written by ./dev amalgamate.

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#error "cofferdam/src.hpp belongs to the compiled mode: define COFFERDAM_SEPARATE_COMPILATION in every file"
#endif
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns about frames that hold a lambda, though a frame is as local as the function it belongs to.
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif

#include <cofferdam/backends/e2b/impl/code_interpreter.ipp>
#include <cofferdam/backends/e2b/impl/folder_watch.ipp>
#include <cofferdam/backends/e2b/impl/process_follower.ipp>
#include <cofferdam/backends/e2b/impl/sandbox_list.ipp>
#include <cofferdam/backends/impl/docker.ipp>
#include <cofferdam/backends/impl/e2b.ipp>
#include <cofferdam/backends/impl/jail.ipp>
#include <cofferdam/backends/impl/local.ipp>
#include <cofferdam/code/impl/guard.ipp>
#include <cofferdam/code/impl/pyodide.ipp>
#include <cofferdam/code/impl/python.ipp>
#include <cofferdam/core/impl/process.ipp>
#include <cofferdam/core/impl/run.ipp>
#include <cofferdam/detail/core/impl/async_event.ipp>
#include <cofferdam/detail/core/impl/callbacks.ipp>
#include <cofferdam/detail/core/impl/home_strand.ipp>
#include <cofferdam/detail/core/impl/shielded.ipp>
#include <cofferdam/detail/core/impl/with_cleanup.ipp>
#include <cofferdam/detail/net/impl/connect_client.ipp>
#include <cofferdam/detail/net/impl/http_client.ipp>
#include <cofferdam/detail/net/impl/http_server.ipp>
#include <cofferdam/detail/net/impl/tls_connector.ipp>
#include <cofferdam/detail/net/impl/transport.ipp>
#include <cofferdam/impl/make_provider.ipp>
#include <cofferdam/llm/impl/agent_session.ipp>
#include <cofferdam/net/impl/byte_stream.ipp>
#include <cofferdam/net/impl/http_call.ipp>
#include <cofferdam/net/impl/listener.ipp>
#include <cofferdam/net/impl/proxy.ipp>
#include <cofferdam/net/impl/tls_listener.ipp>
#include <cofferdam/serve/impl/mcp_server.ipp>
