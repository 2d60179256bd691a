// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#include "options.hpp"

#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/provider_name.hpp>
#include <cofferdam/net/http_server_settings.hpp>

#include "page.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace program {

namespace {

using cofferdam::one_line;

constexpr const char* where_commands_run = "WHERE COMMANDS RUN";
constexpr const char* files_in_and_out = "FILES";
constexpr const char* what_may_run = "WHAT MAY RUN";
constexpr const char* other_agent = "AN AGENT FOR TASKS";
constexpr const char* how_it_runs = "HOW IT RUNS";
constexpr const char* who_is_served = "WHO IS SERVED";
constexpr const char* others = "OTHER OPTIONS";

// ---- values ----

std::uint64_t parse_size(const std::string& text) {
  std::size_t end = 0;
  std::uint64_t number = 0;
  try {
    number = std::stoull(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  unsigned shift = 64;
  if (unit.empty() || unit == "b") shift = 0;
  if (unit == "k" || unit == "K") shift = 10;
  if (unit == "m" || unit == "M") shift = 20;
  if (unit == "g" || unit == "G") shift = 30;
  if (end == 0 || text.front() == '-' || shift == 64 || number > (std::uint64_t{1} << (62 - shift)))
    refuse("\"" + one_line(text) + "\" is not a size such as 512m or 2g");
  return number << shift;
}

/// Parses a time: a number of seconds, or a number with one of the units ms, s, m and h.
/// \param without  the limit if the option is left out, for the message.
std::chrono::milliseconds parse_time(const std::string& text, const char* without) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  double unit_size = 0;
  if (unit.empty() || unit == "s") unit_size = 1000;
  if (unit == "ms") unit_size = 1;
  if (unit == "m") unit_size = 60'000;
  if (unit == "h") unit_size = 3'600'000;
  const double time = std::round(number * unit_size);
  if (problem != std::errc() || !(time >= 1) || !(time <= 7 * 24 * 3'600'000.0))
    refuse("--timeout needs a time from 1ms to a week, such as 30 (seconds), 500ms, 2m or 1h, not \"" +
           one_line(text, 60) + "\"; without --timeout, " + without);
  return std::chrono::milliseconds(static_cast<std::int64_t>(time));
}

std::size_t parse_count(const std::string& text, const char* name, std::size_t least, std::size_t most) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < least || number > most)
    refuse(std::string(name) + " needs a number from " + std::to_string(least) + " to " + std::to_string(most) +
           ", not \"" + one_line(text, 60) + "\"");
  return number;
}

const std::vector<std::string>& origins_of(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    try {
      cofferdam::http_server_settings().origin(origin);
    } catch (const cofferdam::error&) {
      refuse("--origin needs a scheme and a host, and no path, such as https://app.example, not \"" +
             one_line(origin, 60) + "\"");
    }
  }
  return origins;
}

double parse_cpus(const std::string& text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || !(number >= 0.01) || !(number <= 1024))
    refuse("--cpus needs a number from 0.01 to 1024, such as 1 or 0.5, not \"" + one_line(text, 60) + "\"");
  return number;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

/// Splits FROM[:TO] at its last colon.
copy_option parse_copy(const std::string& text, const char* name) {
  const std::size_t colon = text.rfind(':');
  copy_option copy;
  copy.from = text.substr(0, colon);
  if (colon != std::string::npos) copy.to = text.substr(colon + 1);
  if (copy.from.empty() || (colon != std::string::npos && copy.to.empty()))
    refuse(std::string(name) + " \"" + one_line(text) + "\" lacks a path before or after the colon");
  return copy;
}

// ---- groups of options that several subcommands share ----

/// The texts of the options before they are checked.
struct raw_place {
  std::string provider = "jail";
  std::string memory;
  std::string cpus;
  std::string workspace;
  std::vector<std::string> network;
  std::vector<std::string> hosts;
};

struct raw_work {
  raw_place place;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> variables;
  std::string timeout;
  std::string working_directory = ".";
  bool quiet = false;
};

CLI::Option* add_one(CLI::App& app, const char* names, std::string& value, const char* placeholder, const char* group,
                     const char* text) {
  return app.add_option(names, value, text)->type_name(placeholder)->group(group)->take_last();
}

/// Adds an option that may be given several times. One value follows each.
CLI::Option* add_several(CLI::App& app, const char* names, std::vector<std::string>& values, const char* placeholder,
                         const char* group, const char* text) {
  return app.add_option(names, values, text)->type_name(placeholder)->group(group)->allow_extra_args(false)->take_all();
}

void add_flag(CLI::App& app, const char* names, bool& value, const char* group, const char* text) {
  app.add_flag(names, value, text)->group(group);
}

std::string provider_text(bool has_pyodide) {
  const std::string text =
      "jail (the default): isolated by this machine's kernel, with no network, a read-only system and no files of "
      "yours; needs bubblewrap. local: folders of this machine, as your own user, without isolation. docker[:IMAGE]: a "
      "container with no network, a gigabyte of memory and a read-only image (python:3.12-slim). dockerfile:DIR: a "
      "container of the image that the Dockerfile in DIR describes. kubernetes[:IMAGE]: a pod of the cluster that "
      "kubectl uses, like the container. e2b[:TEMPLATE]: a cloud sandbox; the key is read from E2B_API_KEY. ssh:HOST: "
      "another machine, as your user there, without isolation.";
  return has_pyodide ? text + " pyodide: Python in WebAssembly, by Deno, without commands and files." : text;
}

/// Adds --pool, with a text that says what the option does in this subcommand.
void add_pool(CLI::App& app, std::string& raw, const char* text) {
  add_one(app, "--pool", raw, "N", how_it_runs, text);
}

std::size_t pool_of(const std::string& raw) { return raw.empty() ? 0 : parse_count(raw, "--pool", 0, 1000); }

void add_hosts(CLI::App& app, raw_place& raw) {
  add_several(
      app, "--allow-host", raw.hosts, "HOST[:PORT]", where_commands_run,
      "Lets commands reach this host, through a proxy on this machine, and nothing else. *.HOST allows all names below "
      "HOST. Without a port, 443 and 80. May be given several times. For jail, docker and kubernetes, with --network "
      "none.");
}

void add_place(CLI::App& app, raw_place& raw, bool has_pyodide) {
  add_one(app, "--provider", raw.provider, "SPEC", where_commands_run, provider_text(has_pyodide).c_str());
  const std::string memory =
      std::string(
          "Limits memory, as in 512m or 2g; a number without a unit is bytes. jail: of all processes (of each, "
          "if control groups cannot be used); docker: of the container; kubernetes: of the pod") +
      (has_pyodide ? "; pyodide: of the WebAssembly of each Python interpreter (its process may use 320m more)" : "") +
      ". Not for the others.";
  add_one(app, "--memory", raw.memory, "SIZE", where_commands_run, memory.c_str());
  add_one(
      app, "--cpus", raw.cpus, "N", where_commands_run,
      "Limits processors: 1.5 is 1.5 seconds of processor time in each second. jail: of all processes; needs control "
      "groups. docker: of the container; the default is 2. kubernetes: of the pod, which also reserves them; the "
      "default is 1. Not for the others.");
  const std::string network =
      std::string(
          "Chooses the network. jail: none (the default), or host, the network of this machine with its own "
          "services; docker: none (the default), bridge, or the name of a network; kubernetes: none (the "
          "default), or cluster; e2b: none, or on (the default)") +
      (has_pyodide ? "; pyodide: a host that code may reach, with or without a port; each host counts. Otherwise the "
                     "last --network counts."
                   : ". The last --network counts.") +
      " Not for local and ssh.";
  add_several(app, "--network", raw.network, "NAME", where_commands_run, network.c_str());
  add_hosts(app, raw);
  add_one(app, "--workspace", raw.workspace, "DIR", where_commands_run,
          "Uses this directory as the workspace instead of a new one, and keeps it. Not for kubernetes and e2b; for "
          "docker only if the daemon is on this machine; for ssh a directory there.");
}

place_options place_of(const raw_place& raw, bool has_pyodide) {
  place_options place;
  const cofferdam::provider_name name =
      has_pyodide
          ? cofferdam::provider_name::parse(raw.provider, {"jail", "local", "docker:IMAGE", "dockerfile:DIR",
                                                           "kubernetes:IMAGE", "e2b:TEMPLATE", "ssh:HOST", "pyodide"})
          : cofferdam::provider_name::parse(raw.provider, {"jail", "local", "docker:IMAGE", "dockerfile:DIR",
                                                           "kubernetes:IMAGE", "e2b:TEMPLATE", "ssh:HOST"});
  place.provider = name.kind();
  place.image = name.value_or("");
  if (!raw.memory.empty()) place.memory = parse_size(raw.memory);
  if (!raw.cpus.empty()) place.cpus = parse_cpus(raw.cpus);
  place.workspace = raw.workspace;
  place.network = raw.network;
  place.hosts = raw.hosts;
  return place;
}

void add_work(CLI::App& app, raw_work& raw, bool has_pyodide) {
  add_place(app, raw.place, has_pyodide);
  add_several(
      app, "--input", raw.inputs, "HOST[:GUEST]", files_in_and_out,
      "Copies a file, a folder or the files that match a pattern from this machine into the workspace before the "
      "start. GUEST is the new name of the file, or the folder for the files. Default: their own names. The last colon "
      "separates HOST from GUEST. May be given several times.");
  add_several(
      app, "--output", raw.outputs, "GUEST[:HOST]", files_in_and_out,
      "Copies a file, a folder or the files that match a pattern from the workspace to this machine after the end, "
      "even if the command failed. If GUEST is one file and HOST is not a folder, HOST is the new name of the file. "
      "Otherwise the files keep their paths below the folder HOST. Default: the current folder. The last colon "
      "separates GUEST from HOST. May be given several times.");
  add_one(app, "--timeout", raw.timeout, "TIME", how_it_runs,
          "Ends the command and everything that it started after this time, in seconds or as 500ms, 2m or 1h. The exit "
          "status is then 124. Default: no limit, unlike in the library, where it is 5 minutes.");
  add_several(
      app, "--env", raw.variables, "NAME[=VALUE]", how_it_runs,
      "Sets an environment variable. Default for VALUE: the value that the variable has on this machine. No other "
      "variable of this machine is visible to the command. May be given several times.");
  add_one(app, "--workdir", raw.working_directory, "GUEST", how_it_runs,
          "Starts the command in this directory of the workspace. Default: the workspace itself.");
}

void add_quiet(CLI::App& app, bool& quiet) {
  add_flag(app, "-q,--quiet", quiet, others,
           "Shows no progress bar. Default: a terminal shows the progress of pulls, builds and copies.");
}

work_options work_of(const raw_work& raw, bool has_pyodide) {
  work_options work;
  work.place = place_of(raw.place, has_pyodide);
  for (const std::string& text : raw.inputs) work.inputs.push_back(parse_copy(text, "--input"));
  for (const std::string& text : raw.outputs) work.outputs.push_back(parse_copy(text, "--output"));
  for (const std::string& text : raw.variables) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    if (name.empty()) refuse("--env needs NAME=VALUE, not \"" + one_line(text, 60) + "\"");
    if (equals != std::string::npos) {
      work.variables.emplace_back(name, text.substr(equals + 1));
    } else if (const char* const value = std::getenv(name.c_str()); value != nullptr) {
      work.variables.emplace_back(name, value);
    } else {
      refuse("--env " + one_line(name) + ": this variable is not set here; write --env " + one_line(name) + "=VALUE");
    }
  }
  if (!raw.timeout.empty()) work.timeout = parse_time(raw.timeout, "there is no limit");
  work.working_directory = raw.working_directory;
  work.quiet = raw.quiet;
  return work;
}

constexpr const char* allow_text =
    "Runs only commands that match this regular expression as a whole, and runs them without a shell. May be given "
    "several times: a command then needs one match.";
constexpr const char* guards_text =
    "Checks Python code before it runs: syntax, patterns, imports:NAME:NAME..., separated by commas. Guards advise the "
    "author of the code; they do not isolate.";

const std::vector<std::string> exit_statuses = {
    "The status of the command. 124 if the command reached --timeout, 125 if cofferdam itself failed, 126 if the "
    "command was refused or could not be executed, 127 if the command does not exist, 128+N if signal N ended the "
    "command.",
    "^C asks the command to end (SIGINT). A second ^C, SIGTERM or SIGHUP ends the command and everything that it "
    "started. No process is left, even if cofferdam is killed."};

/// The exit statuses of the subcommands that do not run one command.
const std::string failure_status =
    "125 if cofferdam itself failed, for example because of a wrong option; 128+N if signal N ended cofferdam.";

// ---- the parser ----

/// Returns how many characters must be added, removed or replaced to make one text of another.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t k = 1; k <= to.size(); ++k) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({row[k] + 1, row[k - 1] + 1, replaced});
    }
  }
  return row.back();
}

/// The options of one subcommand, on top of CLI11.
class subcommand {
 public:
  subcommand(std::string name, std::string summary, std::vector<std::string> usage)
      : app_(std::make_unique<CLI::App>()) {
    page_.name = std::move(name);
    page_.summary = std::move(summary);
    page_.usage = std::move(usage);
    app_->set_help_flag();
    app_->allow_extras();
  }

  CLI::App& app() { return *app_; }
  void note(std::string heading, std::vector<std::string> paragraphs) {
    page_.notes.push_back({std::move(heading), std::move(paragraphs)});
  }
  /// Adds --help, as the last option.
  void finish() { add_flag(*app_, "-h,--help", help_, others, "Prints this text."); }

  page description() const {
    page shown = page_;
    for (const CLI::Option* const option : std::as_const(*app_).get_options()) {
      if (!option->nonpositional() || option->get_group().empty()) continue;
      option_text text;
      for (const std::string& name : option->get_snames()) text.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) text.names.push_back("--" + name);
      text.optional_value = option->get_expected_min() == 0 && !option->get_type_name().empty();
      if (option->get_expected_min() > 0 || text.optional_value) text.value = option->get_type_name();
      text.text = option->get_description();
      text.group = option->get_group();
      shown.options.push_back(std::move(text));
    }
    // The options of one heading stand together; the last heading is that of --help.
    std::vector<std::string> groups;
    for (const option_text& option : shown.options)
      if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
    const auto rank = [&groups](const option_text& option) {
      if (option.group == others) return groups.end();
      return std::find(groups.begin(), groups.end(), option.group);
    };
    std::stable_sort(shown.options.begin(), shown.options.end(),
                     [&rank](const option_text& a, const option_text& b) { return rank(a) < rank(b); });
    return shown;
  }

  /// Returns true if an option of this name takes a value, which may be the next word.
  bool takes_value(const std::string& name) const {
    const CLI::Option* const option = std::as_const(*app_).get_option_no_throw(name);
    return option != nullptr && option->get_expected_min() > 0;
  }
  /// Returns true if the words that `parse` has read contain the option.
  bool has_been_given(const std::string& name) const { return app_->count(name) != 0; }

  /// Returns "; the nearest option is --OPTION" for the option whose name is nearest to an unknown one, or whose name
  /// contains it. Empty if no name is near.
  /// \param unknown  the name, with or without dashes.
  /// \param dashes   what stands before the name in the suggestion.
  std::string suggestion(std::string_view unknown, std::string_view dashes = "--") const {
    unknown.remove_prefix(std::min(unknown.find_first_not_of('-'), unknown.size()));
    if (unknown.size() < 2 || unknown.size() > 40) return {};
    std::string nearest;
    std::size_t least = 1 + unknown.size() / 3;
    for (const CLI::Option* const option : std::as_const(*app_).get_options()) {
      if (!option->nonpositional()) continue;
      for (const std::string& name : option->get_lnames()) {
        const bool is_part = ("-" + name + "-").find("-" + std::string(unknown) + "-") != std::string::npos;
        const std::size_t distance = is_part ? 0 : edit_distance(unknown, name);
        if (distance >= least) continue;
        least = distance;
        nearest = name;
      }
    }
    return nearest.empty() ? std::string() : "; the nearest option is " + std::string(dashes) + nearest;
  }

  /// Removes the command from the words: all that follows the options, or `--`.
  std::vector<std::string> take_command(std::vector<std::string>& words) const {
    std::size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' && words[at] != "--")
      at += takes_value(words[at]) ? 2 : 1;
    at = std::min(at, words.size());
    std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
    words.resize(at);
    if (!command.empty() && command.front() == "--") command.erase(command.begin());
    return command;
  }

  /// Reads the words. Returns false if they contain --help, which is then printed.
  /// \param program  the name of the program that the help shows.
  bool parse(const std::string& program, std::vector<std::string> words) {
    if (std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "--help" || word == "-h"; })) {
      std::cout << help_text(program, description());
      return false;
    }
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
    try {
      app_->parse(std::move(words));
    } catch (const CLI::ArgumentMismatch& wrong) {
      const std::string text = wrong.what();
      refuse(text.substr(0, text.find(':')) + " needs a value");
    } catch (const CLI::Error& wrong) {
      refuse(one_line(wrong.what(), 300));
    }
    const std::vector<std::string> extras = app_->remaining();
    for (const std::string& word : extras)
      if (word.starts_with('-') && word != "-" && word != "--")
        refuse("unknown option \"" + one_line(word.substr(0, word.find('='))) + "\"" +
               suggestion(std::string_view(word).substr(0, word.find('='))));
    for (const std::string& word : extras)
      if (word != "--") refuse("\"" + one_line(word) + "\" is an unexpected argument");
    return true;
  }
  bool parse(std::vector<std::string> words) {
    const std::string program = "cofferdam " + page_.name;
    return parse(program, std::move(words));
  }

 private:
  std::unique_ptr<CLI::App> app_;
  page page_;
  bool help_ = false;
};

// ---- run, shell ----

struct raw_run {
  raw_work work;
  std::vector<std::string> allow;
  std::string line;
  bool json = false;
};

subcommand describe_run(raw_run& raw) {
  subcommand described("run", "runs one command behind a wall, streams its output and returns its exit status",
                       {"cofferdam run [OPTION...] [--] COMMAND [ARGUMENT...]", "cofferdam run [OPTION...] -c LINE"});
  add_work(described.app(), raw.work, false);
  add_one(described.app(), "-c,--line", raw.line, "LINE", how_it_runs,
          "Runs this line in the shell of the provider, instead of COMMAND.");
  add_several(described.app(), "--allow", raw.allow, "PATTERN", what_may_run, allow_text);
  add_flag(described.app(), "--json", raw.json, others,
           "Prints one JSON object at the end instead of the output: status, exit_code, signal, error, reason, advice, "
           "stdout, stderr, duration_ms, cpu_ms, peak_memory (bytes), outputs (the copied files), output_failures and "
           "isolation (null if --allow refused the command). If stdout_truncated is true, the middle of stdout is "
           "missing, and stdout_bytes is the full size; likewise for stderr.");
  add_quiet(described.app(), raw.work.quiet);
  described.finish();
  described.note("", {"Standard input and both outputs are passed on byte for byte."});
  described.note("EXIT STATUS", exit_statuses);
  described.note(
      "EXAMPLES",
      {"  cofferdam run -- uname -a\n"
       "  cofferdam run --input data.csv --output 'plots/*.png' --timeout 2m -c 'python3 plot.py < data.csv'\n"
       "  git archive HEAD | cofferdam run --provider docker:gcc:13 -c 'tar x && make -k test'\n"
       "  cofferdam run --json --allow 'git (log|status).*' --workspace . -- git status | jq .exit_code"});
  return described;
}

subcommand describe_shell(raw_run& raw) {
  subcommand described("shell", "opens a shell, or another program, in a terminal behind a wall",
                       {"cofferdam shell [OPTION...] [[--] COMMAND [ARGUMENT...]]"});
  add_work(described.app(), raw.work, false);
  add_several(described.app(), "--allow", raw.allow, "PATTERN", what_may_run, allow_text);
  add_quiet(described.app(), raw.work.quiet);
  described.finish();
  described.note("",
                 {"All keys go to the program, ^C and ^Z too. The program sees the size of this terminal, also after a "
                  "change, and the variable TERM. exit or ^D ends the shell and everything that it started."});
  described.note("EXIT STATUS", {exit_statuses.front()});
  described.note("EXAMPLES", {"  cofferdam shell\n  cofferdam shell --workspace . --network host -- python3 -q"});
  return described;
}

run_options run_of(const raw_run& raw, std::vector<std::string> words) {
  run_options options;
  options.work = work_of(raw.work, false);
  options.allow = raw.allow;
  options.line = raw.line;
  options.words = std::move(words);
  options.json = raw.json;
  return options;
}

// ---- python ----

struct raw_python {
  raw_work work;
  std::string interpreter = "python3";
  std::string code;
  std::string guards;
  std::vector<std::string> packages;
  bool json = false;
};

subcommand describe_python(raw_python& raw) {
  subcommand described(
      "python", "runs Python code behind a wall, and prints the value of its last expression",
      {"cofferdam python [OPTION...] FILE [ARGUMENT...]", "cofferdam python [OPTION...] -c CODE [ARGUMENT...]",
       "cofferdam python [OPTION...] - [ARGUMENT...] < FILE"});
  add_work(described.app(), raw.work, true);
  add_one(described.app(), "-c,--code", raw.code, "CODE", how_it_runs, "Runs this code instead of a FILE.");
  add_one(described.app(), "--python", raw.interpreter, "PROGRAM", how_it_runs,
          "Uses this interpreter of the provider (default: python3). Not for pyodide.");
  add_several(
      described.app(), "--package", raw.packages, "NAME", how_it_runs,
      "Installs a package with pip first, which needs a network (see --network). Not for pyodide. May be given several "
      "times.");
  add_one(described.app(), "--guards", raw.guards, "LIST", what_may_run, guards_text);
  add_flag(described.app(), "--json", raw.json, others,
           "Prints one JSON object at the end instead of the output: status, exit_code, error, value, stdout, stderr, "
           "displays, files, the exception and isolation (null if a guard refused the code). If "
           "stdout_truncated is true, the middle of stdout is missing, and stdout_bytes is the full size; likewise for "
           "stderr.");
  add_quiet(described.app(), raw.work.quiet);
  described.finish();
  described.note("",
                 {"Output is passed on as it arrives. Displayed objects are printed as text. The value of the last "
                  "expression is printed at the end, unless it is None. Standard input of the code is empty. sys.argv "
                  "is FILE, -c or -, and the arguments."});
  described.note(
      "EXIT STATUS",
      {"0 if the code ended without an exception, 1 after an exception, or the status of sys.exit. 124 if the code "
       "reached --timeout, 125 if cofferdam itself failed, 126 if a guard refused the code, 128+N if signal N ended "
       "the code.",
       exit_statuses.back()});
  described.note("EXAMPLES", {"  cofferdam python -c 'print(6 * 7)'\n"
                              "  echo '6 * 7' | cofferdam python -\n"
                              "  cofferdam python --input data.csv --guards syntax,imports:csv:statistics mean.py\n"
                              "  cofferdam python --provider docker --network bridge --package numpy solve.py"});
  return described;
}

// ---- mcp, doctor ----

struct raw_mcp {
  raw_place place;
  std::string input;
  std::string output;
  std::vector<std::string> allow;
  std::string python;
  bool no_python = false;
  std::string guards;
  std::string tools;
  std::string skills;
  std::string agent_model;
  std::string agent_url;
  std::string agent_key;
  std::string agent_turns;
  std::string agent_tokens;
  std::string timeout;
  std::string pool;
  std::string http;
  bool stdio = false;
  std::string token_file;
  bool no_token = false;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  std::string config;
  std::string action;
};

subcommand describe_mcp(raw_mcp& raw, const std::string& program) {
  subcommand described("mcp", "runs commands and Python for any MCP host, isolated by the provider that you choose",
                       {program + " [OPTION...]                    serves the host that started it, over stdio",
                        program + " --http HOST:PORT [OPTION...]   serves streamable HTTP at http://HOST:PORT/mcp",
                        program + " doctor [OPTION...]             prints which isolation this machine can enforce"});
  CLI::App& app = described.app();
  app.add_option("action", raw.action)->group("");
  add_place(app, raw.place, true);
  add_one(
      app, "--input", raw.input, "DIR", files_in_and_out,
      "Sets the directory from which the tool upload_file copies into the environment; nothing is copied at the start. "
      "Not for pyodide.");
  add_one(
      app, "--output", raw.output, "DIR", files_in_and_out,
      "Sets the directory to which the tool download_file copies; nothing is copied at the end. Files outside of both "
      "directories are out of reach. Not for pyodide.");
  add_several(
      app, "--allow", raw.allow, "PATTERN", what_may_run,
      "Runs only commands that match this regular expression as a whole, and runs them without a shell. May be given "
      "several times: a command then needs one match. This switches run_python off. To keep it, add --python and a "
      "pattern that lets Python start, such "
      "as python3 (.|\\n)*; such a pattern allows everything.");
  app.add_flag("--python{python3}", raw.python, "Offers run_python with this interpreter (python3; on by default).")
      ->type_name("PROGRAM")
      ->group(what_may_run);
  add_flag(app, "--no-python", raw.no_python, what_may_run, "Switches run_python off.");
  add_one(app, "--guards", raw.guards, "LIST", what_may_run, guards_text);
  add_one(
      app, "--tools", raw.tools, "FILE", what_may_run,
      "Lets code of run_python call tools of other MCP servers, as functions of the module cofferdam_tools. FILE has "
      "the servers as hosts write them, {\"mcpServers\": {...}}; see MCP SERVERS FOR CODE. The servers run as your "
      "user, without a wall.");
  add_one(
      app, "--timeout", raw.timeout, "TIME", what_may_run,
      "Sets the time limit of commands and Python code that request no other (120), in seconds or as 500ms, 2m, 1h. "
      "A request may ask for more: up to an hour, or TIME if that is more.");
  add_one(app, "--skills", raw.skills, "DIR", what_may_run,
          "Offers the tool open_skill, which reads the skills of this folder: DIR/NAME/SKILL.md. Not for pyodide.");
  add_one(
      app, "--agent-model", raw.agent_model, "NAME", other_agent,
      "Offers the tool run_agent: this model works on a task in the workspace of the client, with tools for commands "
      "and files, for at most an hour. Not for pyodide.");
  add_one(app, "--agent-url", raw.agent_url, "URL", other_agent,
          "Uses this OpenAI-compatible server. Default: the environment variable OPENAI_BASE_URL, otherwise OpenAI. "
          "(cofferdam agent: --base-url.)");
  add_one(app, "--agent-key-variable", raw.agent_key, "VARIABLE", other_agent,
          "Reads the API key from this environment variable. Default: OPENAI_API_KEY; with --agent-url, no key.");
  add_one(app, "--agent-turns", raw.agent_turns, "N", other_agent,
          "Limits the turns of each task. Default: 30. (cofferdam agent: --max-turns.)");
  add_one(app, "--agent-tokens", raw.agent_tokens, "N", other_agent,
          "Limits the tokens of each task, input and output together. Default: no limit.");
  add_pool(
      app, raw.pool,
      "Keeps N environments open and unused, 0 to 1000, so that a client gets one at once. 0 (the default): no pool. "
      "Each is used once; another is then opened. N does not limit how many are in use. If none can be opened, "
      "the tools answer with the reason.");
  add_one(app, "--http", raw.http, "HOST:PORT", who_is_served,
          "Serves HTTP at an address of this machine, [::1]:PORT for IPv6; port 0: any free port.");
  add_flag(app, "--stdio", raw.stdio, who_is_served,
           "Serves over standard input and output, even if the configuration has http.");
  add_one(
      app, "--token-file", raw.token_file, "FILE", who_is_served,
      "Reads tokens, one per line (at least 16 characters); or set COFFERDAM_MCP_TOKEN. Clients send Authorization: "
      "Bearer TOKEN. Clients with different tokens are kept apart. If neither is set, a token for this run is "
      "generated and printed.");
  add_flag(app, "--no-token", raw.no_token, who_is_served,
           "Serves every client that can connect: every user of this machine, and every program of theirs, can then do "
           "what you can do with --provider. Only on 127.0.0.1 and ::1.");
  add_several(app, "--host", raw.hosts, "NAME", who_is_served,
              "Accepts another name in the Host field of requests. May be given several times.");
  add_several(app, "--origin", raw.origins, "URL", who_is_served,
              "Accepts requests from web pages of this origin, such as https://app.example, and lets them read the "
              "replies (CORS). May be given several times.");
  add_one(app, "--config", raw.config, "FILE", others,
          "Reads JSON with the same names: {\"provider\": \"docker\", \"allow\": [\"git .*\"], \"timeout\": 60}. The "
          "command line overrides the file; lists are joined.");
  described.finish();
  described.note("CONFIGURATION OF A HOST",
                 {program == "cofferdam-mcp"
                      ? "  {\"mcpServers\": {\"cofferdam\": {\"command\": \"cofferdam-mcp\"}}}"
                      : "  {\"mcpServers\": {\"cofferdam\": {\"command\": \"cofferdam\", \"args\": [\"mcp\"]}}}"});
  described.note(
      "MCP SERVERS FOR CODE",
      {"The file of --tools:",
       "  {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \"args\": [\"mcp-server-time\"], \"tools\": \"*\"}}}",
       "A server is a program (command, args, env, cwd) or a URL (url, headers). ${NAME} in these texts is a variable "
       "of "
       "your environment, and ${NAME:-text} has a default; a program gets no other variables of it than PATH. "
       "\"tools\" "
       "lists the tools that code may call, \"*\" is all. A tool that may change something also needs to be in "
       "\"approve\" (a list, or \"*\"); otherwise its calls fail with the reason.",
       "Code: from cofferdam_tools import time; time.get_current_time(timezone=\"Europe/Oslo\")"});
  described.note(
      "ENVIRONMENTS",
      {"Each client over stdio has its own environment, and so has each HTTP session of protocol versions up to "
       "2025-11-25. HTTP clients of 2026-07-28 have no sessions: all clients with the same token share one "
       "environment, "
       "unless they send the header Cofferdam-Place: NAME (1 to 64 of A-Z a-z 0-9 . _ -). Each name of a token has its "
       "own environment. A name only separates work; every client with the token can use every name. Give clients that "
       "do not trust each other different tokens. All clients share the directory of --workspace.",
       "The tools: code_exec, start_command, read_output, signal_command, list_commands, read_file, write_file, "
       "list_files, view_image, download_file, upload_file (with --input), run_python, create_python_context, "
       "close_python_context. An environment is created when a tool first needs it. It is removed when its client over "
       "stdio disconnects or its session ends; over HTTP also after 30 minutes without use, with or without a name."});
  described.note(
      "THE PROGRAM",
      {"The program is undumpable (PR_SET_DUMPABLE 0): other programs of your user, including commands of the provider "
       "local, cannot read its memory and its keys, and cannot make it the kernel's first choice when memory is short. "
       "It leaves no core dump, and only root can attach a debugger to it.",
       "SIGTERM and ^C close all environments, and end the program within 10 seconds. If something could not be "
       "closed, "
       "the exit status is 125 and the details are on standard error. A second signal ends the program at once."});
  described.note("EXIT STATUS", {"0 after ^C, SIGTERM or the end of standard input. " + failure_status});
  return described;
}

subcommand describe_doctor(raw_mcp& raw) {
  subcommand described("doctor", "prints which isolation this machine can enforce, and what is missing for it",
                       {"cofferdam doctor [OPTION...]"});
  add_place(described.app(), raw.place, true);
  described.finish();
  described.note(
      "", {"The report has all providers of this machine, and kubernetes or ssh if --provider names them. --provider "
           "only chooses which of them decides the exit status, and the other options apply to that one."});
  described.note(
      "EXIT STATUS",
      {"0 if the provider works on this machine (the jail, unless --provider names another one), 1 if it does not.",
       failure_status});
  return described;
}

std::string text_of(const boost::json::value& value, const std::string& name) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_int64()) return std::to_string(value.get_int64());
  refuse("\"" + one_line(name) + "\" in the configuration must be text or a number");
}

/// Returns a configuration as options of the command line.
std::vector<std::string> read_config(const subcommand& known, const std::string& path, bool has_python) {
  std::ifstream file(path);
  if (!file) refuse("the configuration \"" + one_line(path) + "\" cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  boost::system::error_code broken;
  const boost::json::value document = boost::json::parse(text, broken);
  if (broken || !document.is_object()) refuse("the configuration \"" + one_line(path) + "\" is not a JSON object");
  std::vector<std::string> words;
  for (const auto& each : document.get_object()) {
    const std::string name(each.key());
    const std::string option = "--" + name;
    const boost::json::value& value = each.value();
    if (name == "python" && value.is_bool()) {
      if (!has_python) words.push_back(value.get_bool() ? "--python" : "--no-python");
    } else if (name == "no-token" && value.is_bool()) {
      if (value.get_bool()) words.push_back("--no-token");
    } else if (name == "python") {
      words.push_back(option + "=" + text_of(value, name));
    } else if (!known.takes_value(option) || name == "config") {
      refuse("unknown option \"" + one_line(name) + "\" in the configuration" + known.suggestion(name, ""));
    } else if (name == "guards" && value.is_array()) {
      std::string guards;
      for (const boost::json::value& item : value.get_array())
        guards += (guards.empty() ? "" : ",") + text_of(item, name);
      words.insert(words.end(), {option, guards});
    } else if (value.is_array()) {
      for (const boost::json::value& item : value.get_array()) words.insert(words.end(), {option, text_of(item, name)});
    } else {
      words.insert(words.end(), {option, text_of(value, name)});
    }
  }
  return words;
}

/// Puts the options of each --config before the words, so that the command line overrides them.
std::vector<std::string> with_config(const subcommand& known, std::vector<std::string> words) {
  std::vector<std::string> all;
  bool has_python = false;
  for (const std::string& word : words)
    if (word == "--python" || word == "--no-python" || word.starts_with("--python=")) has_python = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string path;
    if (words[i] == "--config" && i + 1 < words.size()) path = words[i + 1];
    if (words[i].starts_with("--config=")) path = words[i].substr(9);
    if (path.empty()) continue;
    const std::vector<std::string> read = read_config(known, path, has_python);
    all.insert(all.end(), read.begin(), read.end());
  }
  all.insert(all.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
  return all;
}

mcp_options mcp_of(const raw_mcp& raw) {
  mcp_options options;
  options.place = place_of(raw.place, true);
  options.input = raw.input;
  options.output = raw.output;
  options.allow = raw.allow;
  if (!raw.python.empty()) {
    options.python_wanted = true;
    options.python = raw.python;
  }
  if (raw.no_python) options.python_wanted = false;
  if (!raw.guards.empty()) options.guards = split(raw.guards, ',');
  options.tools = raw.tools;
  options.skills = raw.skills;
  options.agent.model = raw.agent_model;
  options.agent.base_url = raw.agent_url;
  options.agent.key_variable = raw.agent_key;
  if (!raw.agent_turns.empty()) options.agent.max_turns = parse_count(raw.agent_turns, "--agent-turns", 1, 1'000'000);
  if (!raw.agent_tokens.empty())
    options.agent.token_budget = parse_count(raw.agent_tokens, "--agent-tokens", 1, 1'000'000'000);
  const bool has_setting = !(raw.agent_url + raw.agent_key + raw.agent_turns + raw.agent_tokens).empty();
  if (raw.agent_model.empty() && has_setting) refuse("run_agent needs a model: --agent-model NAME");
  if (!raw.timeout.empty()) options.timeout = parse_time(raw.timeout, "the limit is 120 seconds");
  options.pool = pool_of(raw.pool);
  if (!raw.stdio) options.http = raw.http;
  options.token_file = raw.token_file;
  options.no_token = raw.no_token;
  options.hosts = raw.hosts;
  options.origins = origins_of(raw.origins);
  if (raw.http.empty() && !raw.stdio) {
    for (const auto& [name, is_given] :
         {std::pair("--token-file", !raw.token_file.empty()), std::pair("--host", !raw.hosts.empty()),
          std::pair("--origin", !raw.origins.empty())})
      if (is_given) refuse(std::string(name) + " needs --http HOST:PORT; stdio has neither tokens nor web pages");
  }
  if (!raw.action.empty() && raw.action != "doctor") refuse("\"" + one_line(raw.action) + "\" is not an option");
  options.doctor = raw.action == "doctor";
  return options;
}

// ---- serve, agent, completion, man ----

struct raw_serve {
  raw_place place;
  std::vector<std::string> templates;
  std::string pool;
  std::string home;
  std::string address;
  std::string port;
  std::string key_file;
  std::vector<std::string> origins;
  std::string limit;
  bool allow_host_paths = false;
};

subcommand describe_serve(raw_serve& raw) {
  subcommand described("serve", "serves jails, containers, pods or folders to E2B's official SDKs",
                       {"cofferdam serve [OPTION...]"});
  CLI::App& app = described.app();
  add_one(
      app, "--provider", raw.place.provider, "SPEC", where_commands_run,
      "jail (the default): walls of this machine's kernel, no network. docker[:IMAGE]: a container for each sandbox "
      "(debian:stable-slim). kubernetes[:IMAGE]: a pod for each. local: folders of this machine, without isolation; "
      "needs --allow-host-paths.");
  add_one(app, "--memory", raw.place.memory, "SIZE", where_commands_run,
          "Limits the memory of each sandbox, as in 512m or 2g; a number without a unit is bytes. Not for local.");
  add_one(app, "--cpus", raw.place.cpus, "N", where_commands_run,
          "Limits the processors of each sandbox: 1.5 is 1.5 seconds of processor time in each second. Not for local.");
  add_several(
      app, "--network", raw.place.network, "NAME", where_commands_run,
      "Chooses the network of the sandboxes. jail: none (the default), or host, the network of this machine with "
      "its own services; docker: none (the default), bridge, or the name of a network; kubernetes: none (the "
      "default), or cluster. The last --network counts. Not for local.");
  add_hosts(app, raw.place);
  add_several(app, "--template", raw.templates, "NAME[=IMAGE]", where_commands_run,
              "Lets clients request the template NAME, besides base and code-interpreter-v1. With docker and "
              "kubernetes, IMAGE is the image of its sandboxes; the pool does not contain these. '*' lets clients "
              "request every name, and gives them the same sandboxes. May be given several times.");
  add_one(app, "--home", raw.home, "PATH", where_commands_run,
          "Uses this absolute path as the home of the sandboxes, which is their workspace. Default: /home/user, as in "
          "E2B's own sandboxes.");
  add_flag(app, "--allow-host-paths", raw.allow_host_paths, where_commands_run,
           "Confirms that with --provider local, absolute paths in commands are paths of this machine.");
  add_pool(app, raw.pool,
           "Keeps N sandboxes open and unused, 0 to 1000, so that a client gets one at once. 0 (the default): no pool. "
           "Each is used once; another is then opened. N does not limit how many are in use. If the first cannot be "
           "opened, the program ends with the reason.");
  add_one(app, "--limit", raw.limit, "N", how_it_runs,
          "Serves at most N sandboxes at once, 1 to 10000; a client that wants another gets status 429. Default: 20.");
  add_one(
      app, "--address", raw.address, "ADDRESS", who_is_served,
      "Listens on this IP address of this machine; 0.0.0.0 and :: are all addresses. Default: 127.0.0.1, which only "
      "this machine reaches. The traffic is not encrypted, so use other addresses only in a network that you trust.");
  add_one(app, "--port", raw.port, "PORT", who_is_served,
          "Listens on this port; 0: any free port. Default: the environment variable PORT, otherwise 3000.");
  add_one(app, "--key-file", raw.key_file, "FILE", who_is_served,
          "Accepts the API keys in FILE, one in each line, instead of a new key. Each key has its own sandboxes and an "
          "equal share of --limit. E2B's SDKs expect e2b_ and 40 hexadecimal digits.");
  add_several(app, "--origin", raw.origins, "URL", who_is_served,
              "Lets web pages of this origin, such as https://app.example, use the API and the sandboxes, with a key "
              "(CORS). May be given several times.");
  described.finish();
  described.note(
      "", {"The program generates a key for this run, and prints a line for a shell that sets the variables of the "
           "client: E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY. With --key-file, the line does not contain the key. "
           "It also serves the SDK of the code interpreter. It serves until ^C.",
           "SIGTERM and ^C end the program within 10 s. The program is undumpable: other programs of your "
           "user cannot read its memory and its key, it leaves no core dump, and only root can attach a "
           "debugger to it."});
  described.note("EXIT STATUS", {"0 after ^C or SIGTERM. " + failure_status});
  described.note("EXAMPLE",
                 {"  cofferdam serve --pool 4\n"
                  "  export E2B_API_URL=http://127.0.0.1:3000 ...   (the line that it prints)\n"
                  "  python3 -c 'from e2b import Sandbox; print(Sandbox.create().commands.run(\"id\").stdout)'"});
  return described;
}

struct raw_agent {
  raw_place place;
  std::vector<std::string> task;
  std::vector<std::string> inputs;
  std::string output = "agent-output";
  std::string base_url;
  std::string model = "gpt-5-mini";
  std::string skills;
  std::string max_turns = "30";
  bool quiet = false;
};

subcommand describe_agent(raw_agent& raw) {
  subcommand described("agent", "lets a model work on a task with your files, through any OpenAI-compatible server",
                       {"cofferdam agent [OPTION...] TASK"});
  CLI::App& app = described.app();
  app.add_option("task", raw.task)->group("");
  add_place(app, raw.place, false);
  add_several(app, "--input", raw.inputs, "FILE", files_in_and_out,
              "Copies a file, a folder or the files that match a pattern into the workspace before the start. May be "
              "given several times.");
  add_one(app, "--output", raw.output, "DIR", files_in_and_out,
          "Saves the files of finished work in this folder, and those of unfinished work in DIR/unfinished. Default: "
          "agent-output.");
  add_one(app, "--base-url", raw.base_url, "URL", "THE MODEL",
          "Uses this OpenAI-compatible server. Default: the environment variable OPENAI_BASE_URL, otherwise OpenAI. "
          "(cofferdam mcp: --agent-url.)");
  add_one(app, "--model", raw.model, "NAME", "THE MODEL", "Chooses the model. Default: gpt-5-mini.");
  add_one(app, "--skills", raw.skills, "DIR", "THE MODEL",
          "Offers the skills of this folder, DIR/NAME/SKILL.md, which the model reads when it needs them.");
  add_one(app, "--max-turns", raw.max_turns, "N", "THE MODEL",
          "Limits the number of turns. Default: 30. (cofferdam mcp: --agent-turns.)");
  add_quiet(app, raw.quiet);
  described.finish();
  described.note(
      "", {"The API key is read from the environment variable OPENAI_API_KEY.",
           "The model sets the time limit of each command, otherwise a command ends after 5 minutes. All "
           "commands run in one environment, within --memory and --network. --max-turns limits the whole work."});
  described.note("EXIT STATUS", {"0 if the model finished the task, 1 if it did not. " + failure_status});
  described.note("EXAMPLE", {"  cofferdam agent --input data.csv --output made 'Summarise data.csv in report.md.'"});
  return described;
}

subcommand describe_completion(std::string& shell) {
  subcommand described("completion", "prints a completion script for bash, zsh or fish",
                       {"cofferdam completion bash|zsh|fish"});
  described.app().add_option("shell", shell)->group("");
  described.finish();
  described.note("EXAMPLES", {"  source <(cofferdam completion bash)\n"
                              "  cofferdam completion zsh > ~/.zsh/_cofferdam      (a folder of your fpath)\n"
                              "  cofferdam completion fish > ~/.config/fish/completions/cofferdam.fish"});
  return described;
}

subcommand describe_man() {
  subcommand described("man", "prints the manual of this program, for man(1)", {"cofferdam man | man -l -"});
  described.finish();
  return described;
}

}  // namespace

void refuse(const std::string& why) { throw usage_error(why); }

std::optional<run_options> parse_run(std::vector<std::string> words) {
  raw_run raw;
  subcommand described = describe_run(raw);
  std::vector<std::string> command = described.take_command(words);
  if (!described.parse(std::move(words))) return std::nullopt;
  if (raw.line.empty() == command.empty()) refuse("run needs either a COMMAND, or a line for the shell after -c");
  return run_of(raw, std::move(command));
}

std::optional<run_options> parse_shell(std::vector<std::string> words) {
  raw_run raw;
  subcommand described = describe_shell(raw);
  std::vector<std::string> command = described.take_command(words);
  if (!described.parse(std::move(words))) return std::nullopt;
  return run_of(raw, std::move(command));
}

std::optional<python_options> parse_python(std::vector<std::string> words) {
  raw_python raw;
  subcommand described = describe_python(raw);
  std::vector<std::string> command = described.take_command(words);
  if (!described.parse(std::move(words))) return std::nullopt;
  python_options options;
  if (described.has_been_given("--code")) {
    options.code = raw.code;
    command.insert(command.begin(), "-c");
  }
  if (command.empty()) refuse("python needs a FILE, - for standard input, or -c CODE");
  options.work = work_of(raw.work, true);
  options.interpreter = raw.interpreter;
  if (!raw.guards.empty()) options.guards = split(raw.guards, ',');
  options.packages = raw.packages;
  options.words = std::move(command);
  options.json = raw.json;
  return options;
}

std::optional<mcp_options> parse_mcp(const std::string& name, std::vector<std::string> words) {
  raw_mcp raw;
  subcommand described = describe_mcp(raw, name);
  words = with_config(described, std::move(words));
  if (!described.parse(name, std::move(words))) return std::nullopt;
  return mcp_of(raw);
}

std::optional<mcp_options> parse_doctor(std::vector<std::string> words) {
  raw_mcp raw;
  subcommand described = describe_doctor(raw);
  if (!described.parse(std::move(words))) return std::nullopt;
  raw.action = "doctor";
  return mcp_of(raw);
}

/// Parses NAME[=IMAGE] of --template.
/// \param provider  the kind of --provider.
template_option parse_template(const std::string& text, const std::string& provider) {
  const std::size_t equals = text.find('=');
  template_option parsed;
  parsed.name = text.substr(0, equals);
  if (equals != std::string::npos) parsed.image = text.substr(equals + 1);
  const auto is_valid = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '/';
  };
  const bool is_name = !parsed.name.empty() && parsed.name.size() <= 128 &&
                       std::all_of(parsed.name.begin(), parsed.name.end(), is_valid);
  if (!is_name && parsed.name != "*")
    refuse("--template needs NAME or NAME=IMAGE, where NAME has letters, digits, -, _, . and /, not \"" +
           one_line(text, 60) + "\"");
  if (equals == std::string::npos) return parsed;
  if (parsed.image.empty()) refuse("--template " + one_line(parsed.name) + "= lacks an image");
  if (parsed.name == "*") refuse("--template '*' cannot have an image; give the image to --provider");
  if (provider != "docker" && provider != "kubernetes")
    refuse("--template " + one_line(parsed.name) + "=IMAGE needs --provider docker or kubernetes, not " + provider);
  return parsed;
}

std::optional<serve_options> parse_serve(std::vector<std::string> words) {
  raw_serve raw;
  subcommand described = describe_serve(raw);
  if (!described.parse(std::move(words))) return std::nullopt;
  serve_options options;
  options.place = place_of(raw.place, false);
  if (options.place.provider == "e2b" || options.place.provider == "dockerfile" || options.place.provider == "ssh")
    refuse("serve works with --provider jail, docker:IMAGE, kubernetes:IMAGE or local");
  options.allow_host_paths = raw.allow_host_paths;
  for (const std::string& text : raw.templates)
    options.templates.push_back(parse_template(text, options.place.provider));
  options.pool = pool_of(raw.pool);
  if (!raw.home.empty()) options.home = raw.home;
  if (!raw.address.empty()) options.address = raw.address;
  options.key_file = raw.key_file;
  options.origins = origins_of(raw.origins);
  if (!raw.limit.empty()) options.limit = parse_count(raw.limit, "--limit", 1, 10'000);
  const char* const variable = std::getenv("PORT");
  const char* source = "--port";
  if (raw.port.empty() && variable != nullptr) {
    raw.port = variable;
    source = "the environment variable PORT";
  }
  if (!raw.port.empty()) options.port = static_cast<std::uint16_t>(parse_count(raw.port, source, 0, 65535));
  return options;
}

std::optional<agent_options> parse_agent(std::vector<std::string> words) {
  raw_agent raw;
  subcommand described = describe_agent(raw);
  if (!described.parse(std::move(words))) return std::nullopt;
  agent_options options;
  options.place = place_of(raw.place, false);
  for (const std::string& word : raw.task) options.task += (options.task.empty() ? "" : " ") + word;
  if (options.task.empty()) refuse("agent needs a TASK; usage: cofferdam agent [OPTION...] TASK");
  options.inputs = raw.inputs;
  options.output = raw.output;
  options.base_url = raw.base_url;
  options.model = raw.model;
  options.skills = raw.skills;
  options.max_turns = parse_count(raw.max_turns, "--max-turns", 1, 1'000'000);
  options.quiet = raw.quiet;
  return options;
}

std::optional<std::string> parse_completion(std::vector<std::string> words) {
  std::string shell;
  subcommand described = describe_completion(shell);
  if (!described.parse(std::move(words))) return std::nullopt;
  if (shell.empty()) refuse("completion needs the name of a shell; usage: cofferdam completion bash|zsh|fish");
  return shell;
}

bool parse_man(std::vector<std::string> words) {
  subcommand described = describe_man();
  return described.parse(std::move(words));
}

bool has_model_variable() {
  for (const char* const name : {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_CUSTOM_HEADERS", "OPENROUTER_API_KEY"})
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return true;
  return false;
}

std::vector<page> all_pages() {
  page program;
  program.summary = "runs commands and code that a model wrote, isolated from this machine";
  program.usage = {"cofferdam SUBCOMMAND [OPTION...]"};
  raw_run run;
  raw_run shell;
  raw_python python;
  raw_mcp mcp;
  raw_mcp doctor;
  raw_serve serve;
  raw_agent agent;
  std::string completion;
  std::vector<page> pages{describe_run(run).description(),       describe_shell(shell).description(),
                          describe_python(python).description(), describe_mcp(mcp, "cofferdam mcp").description(),
                          describe_serve(serve).description(),   describe_agent(agent).description(),
                          describe_doctor(doctor).description(), describe_completion(completion).description(),
                          describe_man().description()};
  section list;
  list.heading = "SUBCOMMANDS";
  std::string lines;
  for (const page& each : pages) {
    std::string line = "  " + each.name;
    line.resize(14, ' ');
    lines += (lines.empty() ? "" : "\n") + line + each.summary;
  }
  list.paragraphs.push_back(std::move(lines));
  program.notes.push_back(std::move(list));
  program.notes.push_back(
      {"",
       {"cofferdam SUBCOMMAND --help prints the options of a subcommand; cofferdam --version the "
        "version. An option means the same in run, shell and python, except -c: a line of the shell "
        "in run, code in python. The help of mcp and agent says where their options differ. On a "
        "terminal, progress and errors are coloured unless the variable NO_COLOR is set."}});
  program.notes.push_back(
      {"EXIT STATUS",
       {"0: success. run, shell and python return the status of the command or of the code.",
        "1: agent: the model did not finish the task. doctor: the provider does not work on this machine. 124: the "
        "command reached --timeout. 125: cofferdam itself failed, for example because of a wrong option, or because "
        "its "
        "output could not be written. 126: the command was refused or could not be executed. 127: the command does not "
        "exist. 128+N: signal N ended the command, or cofferdam."}});
  pages.insert(pages.begin(), std::move(program));
  return pages;
}

}  // namespace program
