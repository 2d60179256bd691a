// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI {
class python_reader;
}

namespace cofferdam::inline COFFERDAM_ABI::detail {

/// The settings of a `python` recipe.
class python_settings {
 public:
  std::string name = "python";
  std::string interpreter = "python3";
  std::vector<std::string> packages;
  std::vector<std::string> pip_options;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> preload;
  std::vector<std::pair<std::string, std::string>> helpers;
  std::string working_directory = ".";
  std::chrono::milliseconds timeout{std::chrono::seconds(30)};
  std::chrono::milliseconds start_timeout{std::chrono::seconds(60)};
  std::chrono::milliseconds pip_timeout{std::chrono::minutes(10)};
  std::chrono::milliseconds interrupt_grace{std::chrono::seconds(1)};
  std::size_t kept_output = command::default_kept_output;
  std::size_t max_files = 10'000;
  std::string notebook;  // a program with which contexts read their code as cells of a notebook, or empty
  boost::json::object limits;

  /// Returns the isolation of a run: the isolation of the environment, and the memory limit of the runs if there is
  /// one.
  std::shared_ptr<const isolation_report> isolation(std::shared_ptr<const isolation_report> outer) const;

  /// Returns the folder for the packages of pip, relative to the workspace. Each list of packages has its own folder,
  /// so that a runner with another list does not find these packages.
  std::string packages_folder() const;

  /// Returns the folder for the packages of pip, relative to the work directory.
  std::string packages_from_work_directory() const;

  command pip_command() const;

  /// Returns the command that starts the interpreter. The interpreter reads the driver (the Python program that starts
  /// the runs) from its standard input, so there is no file with the driver that a guest (the code in the environment)
  /// could change before the next start.
  command driver_command() const;

  /// Returns the command that starts a reader (a process that parses code for guards). The reader uses the interpreter
  /// that runs the code, unless its settings place it in the guest and name another interpreter.
  command reader_command(const python_reader& reader) const;

  /// Returns the first input of the interpreter: the driver program and its settings.
  std::string driver_input() const;

 private:
  std::string driver_config() const;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail

#if !defined(COFFERDAM_SEPARATE_COMPILATION)
#include <cofferdam/code/detail/impl/python_settings.ipp>
#endif
