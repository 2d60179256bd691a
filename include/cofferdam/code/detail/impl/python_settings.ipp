// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/embedded_text.hpp>
#include <cofferdam/code/detail/python_driver.hpp>
#include <cofferdam/code/detail/python_settings.hpp>
#include <cofferdam/code/detail/reader_command.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::detail {

COFFERDAM_DECL std::shared_ptr<const isolation_report> python_settings::isolation(
    std::shared_ptr<const isolation_report> outer) const {
  const boost::json::value* const address_limit = limits.if_contains("AS");
  if (address_limit == nullptr || (outer && outer->of(isolation_kind::memory) != "none")) return outer;
  auto report = outer ? std::make_shared<isolation_report>(*outer) : std::make_shared<isolation_report>();
  report->set(isolation_kind::memory, "limit of " + std::to_string(address_limit->to_number<std::uint64_t>()) +
                                          " bytes of address space for each process");
  return report;
}

COFFERDAM_DECL std::string python_settings::packages_folder() const {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a: only makes a name; not a cryptographic hash
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    hash = (hash ^ 0xFFU) * 1099511628211U;
  };
  add(interpreter);
  for (const std::string& each : pip_options) add(each);
  add("--");
  for (const std::string& each : packages) add(each);
  std::string folder = ".cofferdam/packages-";
  for (int shift = 60; shift >= 0; shift -= 4) folder += "0123456789abcdef"[hash >> shift & 15U];
  return folder;
}

COFFERDAM_DECL std::string python_settings::packages_from_work_directory() const {
  std::string up;
  std::string_view rest = working_directory;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (!part.empty() && part != ".") up += "../";
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  }
  return up + packages_folder();
}

COFFERDAM_DECL command python_settings::pip_command() const {
  std::vector<std::string> words{
      interpreter,  "-I",        "-m", "pip", "install", "--target", packages_folder(), "--disable-pip-version-check",
      "--no-input", "--no-color"};
  words.insert(words.end(), pip_options.begin(), pip_options.end());
  words.emplace_back("--");
  words.insert(words.end(), packages.begin(), packages.end());
  command result = argv(std::move(words)).timeout(pip_timeout).keep_output(64 * 1024);
  for (const auto& [variable, value] : variables) result.variable(variable, value);
  return result;
}

COFFERDAM_DECL command python_settings::driver_command() const {
  const std::size_t program_size = embedded_text(python_driver).size();
  const std::string first =
      "import builtins, os, sys\n"
      "if sys.version_info < (3, 8):\n"
      "    sys.exit('Python 3.8 or newer is needed; this is ' + sys.version.split()[0])\n"
      "left, text = int(sys.argv[1]), b''\n"
      "while left:\n"
      "    part = os.read(0, left)\n"
      "    if not part:\n"
      "        sys.exit(3)\n"
      "    left, text = left - len(part), text + part\n"
      "exec(compile(text, 'cofferdam_driver', 'exec'), {'__name__': '__main__',\n"
      // The driver has its own builtins. Code that changes the builtins of other modules does not change the driver.
      "     '__builtins__': dict(vars(builtins))})\n";
  std::vector<std::string> words{interpreter, "-I", "-X", "utf8", "-c", first, std::to_string(program_size)};
  command result = argv(std::move(words))
                       .timeout(no_timeout)
                       .working_directory(working_directory)
                       .variable("MPLBACKEND", "Agg")
                       .keep_output(4096)
                       .open_input();
  for (const auto& [variable, value] : variables) result.variable(variable, value);
  return result;
}

COFFERDAM_DECL command python_settings::reader_command(const python_reader& reader) const {
  const bool other = reader.place() == analysis_place::guest && reader.interpreter() != python_reader().interpreter();
  command result = detail::reader_command(reader, other ? reader.interpreter() : interpreter);
  result.working_directory(working_directory);
  for (const auto& [variable, value] : variables) result.variable(variable, value);
  return result;
}

COFFERDAM_DECL std::string python_settings::driver_input() const {
  const std::string config = driver_config();
  return embedded_text(python_driver) + big_endian_32(config.size()) + config;
}

COFFERDAM_DECL std::string python_settings::driver_config() const {
  boost::json::object config;
  boost::json::array modules;
  for (const std::string& each : preload) modules.emplace_back(each);
  boost::json::object sources;
  for (const auto& [module, source] : helpers) sources[module] = source;
  config["preload"] = std::move(modules);
  config["helpers"] = std::move(sources);
  if (!notebook.empty()) config["notebook"] = notebook;
  config["packages"] = nullptr;
  if (!packages.empty()) config["packages"] = packages_from_work_directory();
  return boost::json::serialize(config);
}

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
