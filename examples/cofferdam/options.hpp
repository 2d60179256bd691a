// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include "page.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The options of all subcommands. An option has the same name and the same meaning wherever it occurs. options.cpp is
// the only file that includes CLI11.

namespace program {

/// An option that is wrong. The message is one sentence for the user.
class usage_error : public std::invalid_argument {
 public:
  explicit usage_error(const std::string& sentence) : std::invalid_argument(sentence + "; see --help") {}
};

/// Throws usage_error.
[[noreturn]] void refuse(const std::string& why);

/// The place where commands run.
struct place_options {
  std::string provider = "jail";  ///< jail, local, docker, dockerfile, e2b, ssh or pyodide
  std::string image;              ///< the part of --provider after the colon
  std::string workspace;
  std::optional<std::uint64_t> memory;
  std::optional<double> cpus;
  std::vector<std::string> network;
  std::vector<std::string> hosts;  ///< of --allow-host
};

/// Files that are copied: HOST[:GUEST] of --input, GUEST[:HOST] of --output.
struct copy_option {
  std::string from;
  std::string to;  ///< empty: not given
};

/// The options that `run`, `shell` and `python` share.
struct work_options {
  place_options place;
  std::vector<copy_option> inputs;
  std::vector<copy_option> outputs;
  std::vector<std::pair<std::string, std::string>> variables;
  std::optional<std::chrono::milliseconds> timeout;
  std::string working_directory = ".";
  bool quiet = false;
};

/// The options of `run` and `shell`.
struct run_options {
  work_options work;
  std::vector<std::string> allow;
  std::vector<std::string> words;  ///< the program and its arguments
  std::string line;                ///< a line for the shell, instead of `words`
  bool json = false;
};

struct python_options {
  work_options work;
  std::string interpreter = "python3";
  std::vector<std::string> guards;
  std::vector<std::string> packages;
  std::optional<std::string> code;  ///< the value of -c, instead of a file
  std::vector<std::string> words;   ///< sys.argv: the file with the code, "-" or "-c", and the arguments
  bool json = false;
};

/// The model of the tool run_agent of cofferdam mcp.
struct run_agent_options {
  std::string model;         ///< empty: the tool is not offered
  std::string base_url;      ///< empty: the usual service
  std::string key_variable;  ///< the environment variable that has the API key; empty: the usual one
  std::size_t max_turns = 30;
  std::optional<std::size_t> token_budget;
};

struct mcp_options {
  place_options place;
  std::string input;
  std::string output;
  std::vector<std::string> allow;
  std::optional<bool> python_wanted;
  std::string python = "python3";
  std::vector<std::string> guards;
  std::string tools;   ///< a file with MCP servers whose tools code may call; empty: none
  std::string skills;  ///< a folder with skills; empty: none
  run_agent_options agent;
  std::optional<std::chrono::milliseconds> timeout;
  std::size_t pool = 0;  ///< how many environments are kept open and unused
  std::string http;
  std::string token_file;
  bool no_token = false;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  bool doctor = false;
};

/// A template that clients can request: NAME[=IMAGE] of --template.
struct template_option {
  std::string name;
  std::string image;  ///< empty: the image of --provider
};

struct serve_options {
  place_options place;
  std::vector<template_option> templates;
  std::size_t pool = 0;  ///< how many environments are kept open and unused
  std::string home = "/home/user";
  std::string address = "127.0.0.1";
  std::uint16_t port = 3000;
  std::string key_file;
  std::vector<std::string> origins;
  std::size_t limit = 20;  ///< how many sandboxes may be open at once
  bool allow_host_paths = false;
};

struct agent_options {
  place_options place;
  std::string task;
  std::vector<std::string> inputs;
  std::string output = "agent-output";
  std::string base_url;
  std::string model = "gpt-5-mini";
  std::string skills;  ///< a folder with skills; empty: none
  std::size_t max_turns = 30;
  bool quiet = false;
};

// Each of these reads the words after the subcommand. If they contain --help, it prints the help and returns no value.
// Throws usage_error if an option is wrong.
std::optional<run_options> parse_run(std::vector<std::string> words);
std::optional<run_options> parse_shell(std::vector<std::string> words);
std::optional<python_options> parse_python(std::vector<std::string> words);
/// \param name  the name that the help shows: "cofferdam mcp" or "cofferdam-mcp".
std::optional<mcp_options> parse_mcp(const std::string& name, std::vector<std::string> words);
std::optional<mcp_options> parse_doctor(std::vector<std::string> words);
std::optional<serve_options> parse_serve(std::vector<std::string> words);
std::optional<agent_options> parse_agent(std::vector<std::string> words);
/// Returns the name of the shell for which a completion script is wanted.
std::optional<std::string> parse_completion(std::vector<std::string> words);
/// Returns true unless the help was printed.
bool parse_man(std::vector<std::string> words);

/// Returns true if an environment variable names a server for models, or contains a key for the usual one.
bool has_model_variable();

/// Returns the description of the program and of each subcommand, in the order in which the help lists them.
std::vector<page> all_pages();

}  // namespace program
