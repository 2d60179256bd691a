// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/embedded_text.hpp>
#include <cofferdam/code/detail/python_notebook.hpp>
#include <cofferdam/code/python.hpp>

#include <utility>

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// Makes recipes of Python runners whose contexts are notebooks.
///
/// Code in such a context may have lines that are no Python, such as `!command` and `%magic`. The driver translates the
/// lines to Python just before the code runs. Only code that Python refuses is translated. A guard of this library does
/// not see the result, so it cannot judge a command in it. Therefore there is no public setting: only a server that
/// runs the code of its clients without guards may use this class.
class notebook_python {
 public:
  static python of(python options) {
    options.with([](python_settings& settings) { settings.notebook = embedded_text(python_notebook); });
    return options;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
