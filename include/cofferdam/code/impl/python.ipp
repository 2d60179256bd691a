// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/detail/driver_calls.hpp>
#include <cofferdam/code/detail/driver_core.hpp>
#include <cofferdam/code/detail/python_settings.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/detail/core/home_strand.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

// clang-format off
COFFERDAM_INSTANTIATE(std::shared_ptr<python_core> make_core(asio::any_io_executor, std::shared_ptr<const python_settings>))
COFFERDAM_INSTANTIATE(const home_strand& home_of(const python_core&))
COFFERDAM_INSTANTIATE(const python_settings& settings_of(const python_core&))
COFFERDAM_INSTANTIATE(std::string version_of(const python_core&))
COFFERDAM_INSTANTIATE(awaitable<void> ensure_driver(std::shared_ptr<python_core>, driver_place&))
COFFERDAM_INSTANTIATE(awaitable<code_result> run_by_driver(std::shared_ptr<python_core>, driver_place&, code_request))
COFFERDAM_INSTANTIATE(awaitable<std::vector<std::string>> contexts_of(std::shared_ptr<python_core>))
COFFERDAM_INSTANTIATE(awaitable<bool> end_context_of(std::shared_ptr<python_core>, std::string))
COFFERDAM_INSTANTIATE(awaitable<void> close_driver(std::shared_ptr<python_core>))
COFFERDAM_INSTANTIATE(void abandon_driver(std::shared_ptr<python_core>, std::unique_ptr<driver_place>) noexcept)
// clang-format on

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
