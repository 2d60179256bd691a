// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

#include <cofferdam/core/any_provider.hpp>

#include "docker/docker_support.hpp"
#include "llm/end_to_end.hpp"

#include <gtest/gtest.h>

namespace {

using namespace cofferdam;

TEST(DockerAgent, a_model_charts_a_file_in_a_container_looks_at_the_chart_and_hands_it_over) {
  COFFERDAM_NEEDS_DOCKER();
  cofferdam_test::play_end_to_end(any_provider(cofferdam_test::test_image("debian")), true);
}

}  // namespace
