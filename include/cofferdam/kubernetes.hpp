// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs commands in pods of a Kubernetes cluster.

#include <cofferdam/backends/kubernetes.hpp>
#include <cofferdam/backends/kubernetes/cluster_info.hpp>
#include <cofferdam/core.hpp>
