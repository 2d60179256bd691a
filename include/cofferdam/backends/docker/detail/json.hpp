// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/detail/json_members.hpp>

namespace cofferdam::inline v0::docker::detail {

using cofferdam::detail::array_at;
using cofferdam::detail::is_true_at;
using cofferdam::detail::json_key;
using cofferdam::detail::json_text;
using cofferdam::detail::member;
using cofferdam::detail::number_at;
using cofferdam::detail::object_at;
using cofferdam::detail::parse_object;
using cofferdam::detail::text_at;
using cofferdam::detail::texts_at;

}  // namespace cofferdam::inline v0::docker::detail
