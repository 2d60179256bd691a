// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include "llm/end_to_end.hpp"

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "support/gateway_thread.hpp"

#include <gtest/gtest.h>

namespace {

using namespace cofferdam;

TEST(EndToEnd, a_model_charts_a_file_looks_at_the_chart_and_hands_it_over) {
  for (const bool streams : {true, false})
    cofferdam_test::play_end_to_end(any_provider(local().without_warning()), streams);
}

TEST(EndToEnd, and_does_the_same_in_a_sandbox_of_e2b) {
  const cofferdam_test::gateway_thread gateway(local().without_warning(),
                                               e2b_gateway_options().api_key("e2b_0123456789"));
  cofferdam_test::play_end_to_end(any_provider(e2b::from_template("base")
                                                   .variables_from(e2b::surroundings())
                                                   .api_key("e2b_0123456789")
                                                   .api_url(gateway.url())
                                                   .sandbox_url(gateway.url())),
                                  true);
}

}  // namespace
