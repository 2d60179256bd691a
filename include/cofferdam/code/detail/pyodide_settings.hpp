// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/code/detail/driver_frames.hpp>
#include <cofferdam/code/detail/embedded_text.hpp>
#include <cofferdam/code/detail/pyodide_driver.hpp>
#include <cofferdam/code/detail/pyodide_reader.hpp>
#include <cofferdam/code/detail/python_driver.hpp>
#include <cofferdam/code/detail/reader_command.hpp>
#include <cofferdam/code/python_reader.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/detail/core/base64.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/net/percent_encoding.hpp>
#include <cofferdam/detail/net/untrusted_json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline COFFERDAM_ABI::detail {

inline constexpr std::string_view how_to_get_pyodide =
    "; to install both, run npm install deno@2.9.6 pyodide@314.0.6, then set COFFERDAM_DENO to node_modules/.bin/deno "
    "and COFFERDAM_PYODIDE to node_modules/pyodide, or set the options of pyodide()";

/// The oldest minor version of Deno 2 that is supported. Up to 2.7.1 workers do not start, or runs hang. 2.7.14, 2.8.0
/// and 2.9.6 were tested and work.
inline constexpr int oldest_deno_minor = 8;

/// A directory or a file of the host to which the code has access.
class pyodide_mount {
 public:
  std::string host;
  std::string guest;
  bool writable = false;
  bool is_file = false;
};

/// The settings of a `pyodide` recipe.
class pyodide_settings {
 public:
  static constexpr std::uint64_t min_memory = 64U * 1024 * 1024;
  static constexpr std::uint64_t max_memory = 4096ULL * 1024 * 1024;
  static constexpr std::uint64_t min_process_memory = 384U * 1024 * 1024;

  std::string name = "pyodide";
  std::string interpreter = "deno";
  std::string folder;
  std::string version;
  std::string snapshots;
  std::vector<pyodide_mount> mounts;
  std::vector<std::string> network;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> packages;
  std::vector<std::string> preload;
  std::chrono::milliseconds timeout{std::chrono::seconds(30)};
  std::chrono::milliseconds start_timeout{std::chrono::minutes(2)};
  std::chrono::milliseconds interrupt_grace{std::chrono::seconds(1)};
  std::size_t kept_output = command::default_kept_output;
  std::size_t max_files = 10'000;
  std::uint64_t memory = 512U * 1024 * 1024;
  std::uint64_t process_memory = 0;  // 0: memory_limit plus a margin, see resident_limit
  std::size_t at_once = 2;
  std::size_t contexts = 16;
  bool isolated = false;
  boost::json::object limits;  // always empty: Pyodide supports no resource limits of processes

  /// Returns the maximum number of interpreters for runs without a context.
  std::size_t interpreters() const noexcept { return std::max<std::size_t>(at_once, isolated ? 2 : 1); }

  /// Returns the maximum resident memory of an interpreter's process, in bytes. It includes WebAssembly and the
  /// JavaScript around it.
  std::uint64_t resident_limit() const noexcept {
    const std::uint64_t around = packages.empty() ? 320 : 640;
    return process_memory != 0 ? process_memory : memory + around * 1024 * 1024;
  }

  /// Returns the limit on private writable memory of each process (RLIMIT_DATA), in KiB. The kernel counts memory that
  /// V8 only reserves: 1.3 GiB with one interpreter (Deno 2.9). Therefore this limit is higher than the resident
  /// memory. It stops a process that grows faster than the process checks its own size.
  std::uint64_t data_limit() const noexcept { return (resident_limit() + std::uint64_t{1536} * 1024 * 1024) / 1024; }

  /// Returns a copy of the settings in which the programs and folders are absolute paths that were checked.
  /// \throws error{exec_errc::not_found, unsupported, not_a_directory, collision, invalid_argument} if a check fails.
  pyodide_settings found() const {
    pyodide_settings settings = *this;
    settings.interpreter = find_deno();
    settings.folder = find_folder(settings.interpreter);
    settings.version = version_in(settings.folder);
    require_listable(settings.folder);
    require_listable(settings.interpreter);
    for (pyodide_mount& each : settings.mounts) settings.check(each);
    if (!settings.snapshots.empty()) {
      std::error_code failed;
      settings.snapshots = std::filesystem::canonical(settings.snapshots, failed).string();
      if (failed) throw error(exec_errc::not_found, "pyodide: the folder for snapshots does not exist");
      require_listable(settings.snapshots);
      for (const pyodide_mount& each : settings.mounts)
        if (each.writable && overlap(each.host, settings.snapshots))
          throw error(exec_errc::invalid_argument,
                      "pyodide: '" + one_line(each.host) +
                          "' must not be writable, because guards and later runs start from "
                          "the snapshots there");
    }
    return settings;
  }

  /// Returns the isolation of a run: the isolation of Deno's process, and the isolation by Deno and WebAssembly inside
  /// this process.
  std::shared_ptr<const isolation_report> isolation(const std::shared_ptr<const isolation_report>& outer) const {
    auto report = outer ? std::make_shared<isolation_report>(*outer) : std::make_shared<isolation_report>();
    std::string hosts;
    for (const std::string& each : network) hosts += (hosts.empty() ? "" : ", ") + each;
    std::size_t writable = 0;
    for (const pyodide_mount& each : mounts) writable += each.writable ? 1 : 0;
    report->set(isolation_kind::files, mounts.empty() ? "Deno's permissions: no files of the host"
                                                      : "Deno's permissions: " + std::to_string(mounts.size()) +
                                                            " directories or files, " + std::to_string(writable) +
                                                            " of them writable");
    report->set(isolation_kind::network, "Deno's permissions: " + (hosts.empty() ? "nothing" : hosts));
    report->set(isolation_kind::signals, "WebAssembly has no processes to signal");
    report->set(isolation_kind::system_calls,
                "WebAssembly makes no system calls; the kernel does not restrict Deno's process");
    report->set(isolation_kind::memory, "limit of " + std::to_string(memory) + " bytes for each interpreter, and of " +
                                            std::to_string(resident_limit()) + " bytes for its process");
    report->set(isolation_kind::process_count, "WebAssembly has no processes");
    return report;
  }

  /// Returns the command that starts the broker. This Deno process starts the processes of the interpreters, and may
  /// write the snapshot.
  command driver_command() const {
    std::vector<std::string> words = deno_words(memory);
    words.push_back("--allow-run=" + interpreter);
    std::string kept;
    if (const std::string snapshot = snapshot_file(); !snapshot.empty()) {
      add(kept, snapshot);
      add(kept, snapshot + ".new");  // the driver writes the snapshot to this file first
    }
    if (!kept.empty()) words.insert(words.end(), {"--allow-read=" + kept, "--allow-write=" + kept});
    std::string net;
    for (const std::string& each : network) add(net, each);
    if (!net.empty()) words.push_back("--allow-net=" + net);
    words.push_back(script(pyodide_driver));
    return deno_command(within_data_limit(std::move(words)));
  }

  /// Returns the command that starts the process of one interpreter.
  std::vector<std::string> place_command() const {
    std::vector<std::string> words = deno_words(memory);
    std::string read = folder;
    std::string written;
    for (const pyodide_mount& each : mounts) {
      add(read, each.host);
      if (each.writable) add(written, each.host);
    }
    words.push_back("--allow-read=" + read);
    if (!written.empty()) words.push_back("--allow-write=" + written);
    words.insert(words.end(), {script(pyodide_driver), "place"});
    return words;
  }

  /// Returns the command that starts a reader for guards: Pyodide's Python in a Deno process of its own. This process
  /// may read Pyodide's files and the snapshot, and never runs the code.
  command reader_command(const python_reader& reader) const {
    std::vector<std::string> words = deno_words(std::clamp<std::uint64_t>(reader.memory(), min_memory, max_memory));
    const std::string snapshot = snapshot_file();
    words.push_back("--allow-read=" + folder + (snapshot.empty() ? "" : "," + snapshot));
    words.push_back(script(pyodide_reader));
    words.push_back(file_url(folder));
    words.push_back(reader_program());
    words.push_back(snapshot);
    return deno_command(std::move(words));
  }

  /// Returns the version of Python in a version of Pyodide: "3.14" for "314.0.6"; empty if it is not known.
  static std::string python_of(const std::string& version) {
    return version.rfind("314.", 0) == 0 ? "3.14" : std::string();
  }

  command version_command() const {
    return argv(interpreter, "--version").timeout(std::chrono::seconds(10)).keep_output(4096);
  }

  /// Throws if the Deno program has the wrong version.
  /// \param about  the result of the version command, after Deno did not start.
  /// \throws error{exec_errc::unsupported} if the version is wrong, or the program is not Deno.
  void require_version(const command_result& about) const {
    const std::string program = "'" + one_line(interpreter) + "'";
    const std::string needed = "; Deno 2." + std::to_string(oldest_deno_minor) + " or newer is required";
    if (about.kind() == error_kind::execution_error)
      throw error(exec_errc::unsupported,
                  "pyodide: " + program + " is not Deno: " + about.reason() + needed + std::string(how_to_get_pyodide));
    if (about.kind() != error_kind::none) return;
    const std::string version_line = about.out().text().substr(0, about.out().text().find('\n'));
    int major = 0;
    int minor = 0;
    if (std::sscanf(version_line.c_str(), "deno %9d.%9d", &major, &minor) != 2) {
      std::string answer = version_line.empty() ? "nothing" : "'" + one_line(version_line, 100) + "'";
      throw error(exec_errc::unsupported, "pyodide: " + program + " is not Deno: its answer to --version is " + answer +
                                              needed + std::string(how_to_get_pyodide));
    }
    if (major != 2 || minor < oldest_deno_minor)
      throw error(exec_errc::unsupported, "pyodide: " + program + " is '" + one_line(version_line, 100) + "'" + needed +
                                              std::string(how_to_get_pyodide));
  }

  std::string driver_input() const {
    boost::json::object config;
    config["folder"] = file_url(folder);
    config["own"] = boost::json::array{folder};
    config["forget"] = boost::json::array{folder};
    config["pyodide"] = version;
    config["deno_minor"] = oldest_deno_minor;
    config["prelude"] = prelude();
    config["snapshot_file"] = snapshot_file();
    boost::json::array shown;
    for (const pyodide_mount& each : mounts) {
      boost::json::object row;
      row["host"] = each.host;
      row["guest"] = each.guest;
      row["write"] = each.writable;
      row["folder"] = nullptr;
      if (each.is_file) row["folder"] = std::filesystem::path(each.host).parent_path().string();
      shown.push_back(std::move(row));
    }
    config["mounts"] = std::move(shown);
    config["network"] = list_of(network);
    config["packages"] = list_of(packages);
    config["preload"] = list_of(preload);
    boost::json::object environment;
    for (const auto& [key, value] : variables) environment[key] = value;
    config["environment"] = std::move(environment);
    config["at_once"] = interpreters();
    config["isolate"] = isolated;
    config["max_contexts"] = contexts;
    config["process_memory"] = resident_limit();
    config["place_command"] = list_of(place_command());
    config["worn"] = std::min<std::uint64_t>(memory / 2 + 1, 192U * 1024 * 1024);
    const std::string text = boost::json::serialize(config);
    return big_endian_32(text.size()) + text;
  }

  /// Returns the Python program that Pyodide executes when it starts.
  static std::string prelude() {
    const std::string source = embedded_text(python_driver_in_pyodide) + embedded_text(pyodide_run);
    // The source is inserted as a JSON string. A JSON string of ASCII characters is also a valid Python string.
    return "import builtins\n"
           "def cofferdam_begin(source):\n"
           "    names = {'__name__': 'cofferdam_driver', '__builtins__': dict(vars(builtins))}\n"
           "    exec(compile(source, 'cofferdam_driver', 'exec'), names)\n"
           "    return names['serve']\n"
           "cofferdam_serve = cofferdam_begin(" +
           boost::json::serialize(boost::json::string(source)) + ")\ndel cofferdam_begin, builtins\n";
  }

 private:
  std::vector<std::string> deno_words(std::uint64_t max_bytes) const {
    std::vector<std::string> words{interpreter,   "run",         "--quiet",
                                   "--no-config", "--no-lock",   "--no-npm",
                                   "--no-remote", "--no-prompt", "--unstable-worker-options"};
    words.push_back(
        "--v8-flags=--disallow-code-generation-from-strings,--max-old-space-size=512,--wasm-max-mem-pages=" +
        std::to_string(std::max<std::uint64_t>(max_bytes / 65536, 1)));
    return words;
  }

  static void add(std::string& list, const std::string& entry) { list += (list.empty() ? "" : ",") + entry; }

  /// Returns `words` as a command that runs under the limit of `data_limit()`. A lower limit that already exists is
  /// kept. The processes of interpreters inherit the limit, and it applies to each of them.
  std::vector<std::string> within_data_limit(std::vector<std::string> words) const {
    std::vector<std::string> limited{"/bin/sh", "-c", "ulimit -d \"$0\" 2>/dev/null; exec \"$@\"",
                                     std::to_string(data_limit())};
    limited.insert(limited.end(), std::make_move_iterator(words.begin()), std::make_move_iterator(words.end()));
    return limited;
  }

  template <class Pieces>
  static std::string script(const Pieces& pieces) {
    const std::string text = embedded_text(pieces);
    return "data:application/javascript;base64," + base64_encode(as_bytes(text));
  }

  static command deno_command(std::vector<std::string> words) {
    return argv(std::move(words))
        .timeout(no_timeout)
        .variable("DENO_DIR", "deno")
        .variable("DENO_NO_UPDATE_CHECK", "1")
        .variable("DENO_NO_PACKAGE_JSON", "1")
        .variable("NO_COLOR", "1")
        .keep_output(4096)
        .open_input();
  }

  static boost::json::array list_of(const std::vector<std::string>& words) {
    boost::json::array list;
    for (const std::string& each : words) list.emplace_back(each);
    return list;
  }

  static std::string file_url(std::string_view path) { return "file://" + percent_encoded_path(path); }

  static std::string variable_of_host(const char* key) {
    const char* const value = std::getenv(key);
    return value == nullptr ? std::string() : value;
  }

  static bool is_program(const std::filesystem::path& path) {
    std::error_code failed;
    return std::filesystem::is_regular_file(path, failed) && ::access(path.c_str(), X_OK) == 0;
  }

  std::string find_deno() const {
    std::string program = interpreter;
    if (program == "deno" && !variable_of_host("COFFERDAM_DENO").empty()) program = variable_of_host("COFFERDAM_DENO");
    if (program.find('/') != std::string::npos) {
      if (is_program(program)) return std::filesystem::absolute(program).string();
    } else {
      const std::string path = variable_of_host("PATH");
      for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        const std::filesystem::path candidate = std::filesystem::path(path.substr(at, end - at)) / program;
        if (end > at && is_program(candidate)) return std::filesystem::absolute(candidate).string();
        at = end + 1;
      }
    }
    throw error(exec_errc::not_found,
                "pyodide: the program '" + one_line(program) + "' does not exist" + std::string(how_to_get_pyodide));
  }

  /// Returns the folder of Pyodide. By default, searches for it next to Deno, where npm installs both.
  std::string find_folder(const std::string& deno) const {
    std::string pyodide_folder = folder.empty() ? variable_of_host("COFFERDAM_PYODIDE") : folder;
    std::error_code failed;
    if (pyodide_folder.empty()) {
      const std::filesystem::path real = std::filesystem::canonical(deno, failed);
      for (std::filesystem::path up = real.parent_path(); pyodide_folder.empty() && up.has_relative_path();
           up = up.parent_path())
        if (std::filesystem::exists(up / "pyodide/pyodide.mjs", failed)) pyodide_folder = (up / "pyodide").string();
    }
    const std::filesystem::path real = std::filesystem::canonical(pyodide_folder, failed);
    if (pyodide_folder.empty() || failed || !std::filesystem::exists(real / "pyodide.mjs", failed))
      throw error(exec_errc::not_found, "pyodide: there is no Pyodide in '" + one_line(pyodide_folder) + "'" +
                                            std::string(how_to_get_pyodide));
    return real.string();
  }

  static std::string version_in(const std::filesystem::path& folder) {
    std::ifstream file(folder / "package.json", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::error_code failed;
    const boost::json::value about = parse_untrusted_json(text, failed);
    const std::string is(if_text_at(failed ? nullptr : about.if_object(), "version").value_or("unknown"));
    if (is.rfind("314.", 0) != 0)
      throw error(exec_errc::unsupported, "pyodide: version 314 is required, but the version is '" + one_line(is, 100) +
                                              "'" + std::string(how_to_get_pyodide));
    return is;
  }

  static void require_listable(const std::string& path) {
    if (path.find(',') != std::string::npos)
      throw error(exec_errc::invalid_argument,
                  "pyodide: Deno does not accept a path with a comma: '" + one_line(path) + "'");
  }

  static bool holds(const std::string& outer, const std::string& inner) {
    return inner == outer || outer == "/" || inner.rfind(outer + "/", 0) == 0;
  }

  static bool overlap(const std::string& one, const std::string& other) {
    return holds(one, other) || holds(other, one);
  }

  void check(pyodide_mount& mount) const {
    std::error_code failed;
    const std::filesystem::path real = std::filesystem::canonical(mount.host, failed);
    mount.is_file = !failed && std::filesystem::is_regular_file(real, failed);
    if (failed || (!mount.is_file && !std::filesystem::is_directory(real, failed)))
      throw error(exec_errc::not_a_directory,
                  "pyodide: '" + one_line(mount.host) + "' is neither a directory nor a regular file");
    mount.host = real.string();
    require_listable(mount.host);
    std::error_code unknown;
    const std::string deno = std::filesystem::canonical(interpreter, unknown).string();
    if (mount.writable && (overlap(mount.host, folder) || holds(mount.host, deno)))
      throw error(exec_errc::invalid_argument, "pyodide: '" + one_line(mount.host) +
                                                   "' must not be writable, because it belongs to Deno or Pyodide");
    for (const pyodide_mount& other : mounts)
      if (&other != &mount && other.guest == mount.guest)
        throw error(exec_errc::collision,
                    "pyodide: two directories or files have the guest path '" + one_line(mount.guest) + "'");
  }

  /// Returns the path of the snapshot for this version of Pyodide and of the driver program; empty if there is none.
  std::string snapshot_file() const {
    if (snapshots.empty()) return {};
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a: only makes a name; not a cryptographic hash
    for (const char c : prelude() + folder) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return snapshots + "/pyodide-" + version + "-" + std::to_string(hash) + ".snapshot";
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::detail
