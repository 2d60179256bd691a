// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that gives tools to a language model: descriptions of the tools, their arguments and their
// answers.

#include <cofferdam/core.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/arguments.hpp>
#include <cofferdam/tools/ask_user.hpp>
#include <cofferdam/tools/blocking.hpp>
#include <cofferdam/tools/code_exec.hpp>
#include <cofferdam/tools/definition.hpp>
#include <cofferdam/tools/finish.hpp>
#include <cofferdam/tools/function.hpp>
#include <cofferdam/tools/list_files.hpp>
#include <cofferdam/tools/read_file.hpp>
#include <cofferdam/tools/run_python.hpp>
#include <cofferdam/tools/schema.hpp>
#include <cofferdam/tools/skills.hpp>
#include <cofferdam/tools/tool.hpp>
#include <cofferdam/tools/view_image.hpp>
#include <cofferdam/tools/view_media.hpp>
#include <cofferdam/tools/write_file.hpp>
