// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

// The headers for a program that runs Python code: an interpreter that keeps running in any backend, Pyodide (CPython
// compiled to WebAssembly), guards that check code before it runs, and functions of the program that the code may call.

#include <cofferdam/code/allow_imports.hpp>
#include <cofferdam/code/analyze_code.hpp>
#include <cofferdam/code/any_runner.hpp>
#include <cofferdam/code/check_syntax.hpp>
#include <cofferdam/code/code_request.hpp>
#include <cofferdam/code/code_result.hpp>
#include <cofferdam/code/data_table.hpp>
#include <cofferdam/code/guard.hpp>
#include <cofferdam/code/limit_code.hpp>
#include <cofferdam/code/pyodide.hpp>
#include <cofferdam/code/python.hpp>
#include <cofferdam/code/python_class.hpp>
#include <cofferdam/code/reject_patterns.hpp>
#include <cofferdam/core.hpp>
#include <cofferdam/tools/argument.hpp>
#include <cofferdam/tools/function.hpp>
