// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs commands, copies files and uses layers (middleware), without any backend. The
// program includes the header of a backend too, such as local.hpp.

#include <cofferdam/core/any_provider.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/environment_ref.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/format_result.hpp>
#include <cofferdam/core/layer.hpp>
#include <cofferdam/core/pool.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/run.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/files/copy_files.hpp>
#include <cofferdam/files/download.hpp>
#include <cofferdam/files/file_set.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/middleware/allow_commands.hpp>
#include <cofferdam/middleware/lazy.hpp>
#include <cofferdam/middleware/limit_concurrency.hpp>
#include <cofferdam/middleware/limit_output.hpp>
#include <cofferdam/middleware/read_only.hpp>
#include <cofferdam/middleware/retry.hpp>
#include <cofferdam/middleware/tap.hpp>
#include <cofferdam/middleware/timeout.hpp>
#include <cofferdam/middleware/trace.hpp>
#include <cofferdam/middleware/upload_files.hpp>
#include <cofferdam/middleware/variables.hpp>
