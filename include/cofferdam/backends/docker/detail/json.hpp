// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/parse_object.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

using cofferdam::detail::array_at;
using cofferdam::detail::is_true_at;
using cofferdam::detail::json_text;
using cofferdam::detail::json_view;
using cofferdam::detail::member;
using cofferdam::detail::number_at;
using cofferdam::detail::object_at;
using cofferdam::detail::parse_object;
using cofferdam::detail::text_at;
using cofferdam::detail::texts_at;

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
