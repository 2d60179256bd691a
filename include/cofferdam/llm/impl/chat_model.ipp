// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/llm/chat_model.hpp>

#include <memory>
#include <utility>

namespace cofferdam::inline COFFERDAM_ABI {

COFFERDAM_DECL awaitable<chat_reply> any_chat_model::keep(std::shared_ptr<interface> inside, chat_request request) {
  if (!inside)
    throw error(exec_errc::invalid_argument,
                "any_chat_model: empty (default-constructed or moved from); assign a model first");
  chat_reply reply = co_await inside->chat(std::move(request));
  co_return reply;
}

}  // namespace cofferdam::inline COFFERDAM_ABI
