// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/detail/api_error.hpp>
#include <cofferdam/backends/e2b/detail/envd.hpp>
#include <cofferdam/backends/e2b/detail/envd_launcher.hpp>
#include <cofferdam/backends/e2b/detail/envd_script.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_facts.hpp>
#include <cofferdam/backends/e2b/file_metadata.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/directory_entry.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_source.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/command_files.hpp>
#include <cofferdam/detail/core/ends_everything.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/utf8.hpp>
#include <cofferdam/detail/core/with_cleanup.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>
#include <cofferdam/detail/os/command_launcher.hpp>
#include <cofferdam/detail/os/path_error.hpp>
#include <cofferdam/detail/os/random_text.hpp>
#include <cofferdam/net/http_message.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/session_files.hpp>
#include <cofferdam/os/spawn.hpp>

#include <asio/this_coro.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b::detail {

/// The file operations of a sandbox. The file calls of envd, the daemon in the sandbox, transfer the contents. Small
/// commands before and after a transfer do the rest: they refuse symbolic links that lead out of the workspace, replace
/// files atomically, and handle names that are not UTF-8. A value type; each coroutine that uses it keeps a copy.
///
/// The daemon reads and writes as root and follows symbolic links. A path is checked before the transfer, but the file
/// is not kept open in between. A command in the sandbox can change the path in this time, and the change is not
/// detected. The most that the command can gain is root access to files of its own sandbox.
class sandbox_files : public cofferdam::detail::operations_by_command<sandbox_files> {
 public:
  /// \param variables  environment variables for the small commands that file operations run.
  sandbox_files(std::shared_ptr<envd_launcher> launcher, std::vector<std::string> variables)
      : launcher_(std::move(launcher)), where_(launcher_->where()), variables_(std::move(variables)) {}

  /// A function that runs a command with a request from `request_for`.
  using runner = std::function<awaitable<command_result>(command, spawn_request)>;

  /// Runs the small commands by `run`, in place of the daemon. For that they need all of their variables. Uploaded
  /// files get their paths by `files`, without a command.
  void use_warden(runner run, std::shared_ptr<session_files> files, std::vector<std::string> variables) {
    run_ = std::move(run);
    warden_ = std::move(files);
    variables_ = std::move(variables);
  }

  const std::string& root() const noexcept { return where_.root; }

  awaitable<command_result> run_command(command c) {
    if (!run_ && envd_script::can_run(c, variables_)) {
      launcher_->check_open();
      command_result result = co_await envd_script::run(daemon(), c.words(), variables_, where_.from_home,
                                                        c.kept_output().value_or(command::default_kept_output));
      co_return result;
    }
    if (!c.timeout()) c.timeout(no_timeout);
    spawn_request request = request_for(c, "/bin/sh", variables_);
    if (run_) {
      request.directory_path = where_.root;
      command_result result = co_await run_(std::move(c), std::move(request));
      co_return result;
    }
    request.directory_path = ".";
    command_result result =
        co_await cofferdam::detail::command_launcher::run(launcher_, std::move(c), std::move(request));
    co_return result;
  }

  awaitable<bytes> read_file(std::string path, std::size_t max_bytes) {
    const std::string clean = workspace_path(path, where_.root);
    const file_head head = co_await look(clean, max_bytes);
    cofferdam::detail::http_exchange answer = co_await open(head, clean);
    bytes content;
    std::optional<error> broken;
    try {
      content = co_await answer.read_all(max_bytes);
    } catch (const error& failure) {
      if (failure.code() == exec_errc::too_large) throw too_large(clean, max_bytes);
      if (failure.code() == exec_errc::cancelled) throw;
      broken = failure;
    }
    if (broken) {
      const error why = co_await daemon()->explain(*broken, "read a file");
      throw why;
    }
    co_return content;
  }

  awaitable<void> write_file(std::string path, bytes_view content) {
    const std::string clean = workspace_path(path, where_.root);
    upload_pieces pieces(content);
    co_await put(clean, pieces, std::nullopt, file_metadata());
  }

  /// Writes a file that E2B stores with metadata.
  /// \throws error{exec_errc::unsupported} if the daemon cannot store metadata.
  awaitable<void> write_file(std::string path, bytes_view content, file_metadata metadata) {
    require_metadata();
    const std::string clean = workspace_path(path, where_.root);
    upload_pieces pieces(content);
    co_await put(clean, pieces, std::nullopt, std::move(metadata));
  }

  /// Returns the metadata of a file.
  awaitable<file_metadata> metadata_of(std::string path) {
    require_metadata();
    const std::string clean = workspace_path(path, where_.root);
    const file_head head = co_await look(clean, any_size);
    boost::json::object message;
    message["path"] = plain_path(head.path);
    const boost::json::object answer = co_await envd::ask(daemon(), "/filesystem.Filesystem/Stat", std::move(message),
                                                          "read the metadata of a file", true);
    const boost::json::object* const entry = cofferdam::detail::object_at(answer, "entry");
    co_return entry == nullptr ? file_metadata() : metadata_in(*entry);
  }

  /// Returns the metadata of the files of a folder that have some, by the names of the files.
  awaitable<std::map<std::string, file_metadata>> all_metadata(std::string path) {
    require_metadata();
    const std::string clean = workspace_path_or_root(path, where_.root);
    co_await directory_path(clean);
    boost::json::object message;
    message["path"] = plain_path(clean);
    message["depth"] = 1;
    const boost::json::object answer = co_await envd::ask(daemon(), "/filesystem.Filesystem/ListDir",
                                                          std::move(message), "read the metadata of files", true);
    std::map<std::string, file_metadata> result;
    const boost::json::array* const entries = cofferdam::detail::array_at(answer, "entries");
    if (entries == nullptr) co_return result;
    for (const boost::json::value& each : *entries) {
      const boost::json::object* const entry = each.if_object();
      // The daemon may follow a symbolic link, out of the workspace.
      if (entry == nullptr || cofferdam::detail::member(*entry, "symlinkTarget") != nullptr) continue;
      file_metadata found = metadata_in(*entry);
      if (!found.empty()) result.emplace(cofferdam::detail::text_at(*entry, "name"), std::move(found));
    }
    co_return result;
  }

  awaitable<transfer_result> put_files(file_source& source) {
    return cofferdam::detail::put_each(source,
                                       [this, &source](const file_header& header) { return put_one(source, header); });
  }
  /// Returns a source that reads the requested files one after another. The source owns a copy of this object.
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests);

  /// Returns the path of a command's working directory, after a check that it is a directory in the workspace.
  /// \throws error{exec_errc::outside_workspace, not_found, not_a_directory, permission_denied}.
  awaitable<std::string> directory_path(std::string path) {
    const std::string clean = workspace_path_or_root(path, where_.root);
    if (clean == ".") co_return std::string(".");
    std::vector<std::string> words{"/bin/sh", "-c", std::string(enter_script), "sh", "./" + clean, where_.root};
    command ask = argv(std::move(words));
    command_result result = co_await run_command(std::move(ask));
    check(result, "enter", clean, 0);
    co_return "./" + clean;
  }

  awaitable<transferred_file> put_one(file_source& source, const file_header& header) {
    const std::string clean = workspace_path(header.destination());
    if (header.type() == file_type::directory) {
      co_await make_directory(clean);
      co_return transferred_file(header.source(), clean, 0);
    }
    upload_pieces pieces(source);
    co_await put(clean, pieces, header.mode() & 0777U, file_metadata());
    co_return transferred_file(header.source(), clean, pieces.size());
  }

  static constexpr std::size_t any_size = std::size_t{1} << 60U;
  static constexpr std::uint64_t large_body = std::uint64_t{1} << 20U;  // bytes

  /// Information about a file that is about to be read.
  class file_head {
   public:
    file_head() = default;

    std::string path;  ///< relative to the workspace, with symbolic links resolved
    std::uint64_t size = 0;
    unsigned mode = 0;
  };

  /// Checks a file before it is read, and returns its path, size and mode.
  /// \param max_bytes  the maximum size of the file, in bytes; a larger file is refused.
  awaitable<file_head> look(std::string clean, std::size_t max_bytes) {
    std::vector<std::string> words{"/bin/sh",
                                   "-c",
                                   std::string(look_script),
                                   "sh",
                                   "./" + clean,
                                   where_.root,
                                   std::to_string(std::min(max_bytes, any_size))};
    command ask = argv(std::move(words));
    command_result result = co_await run_command(std::move(ask));
    check(result, "read", clean, max_bytes);
    const std::string_view output = as_text(result.out().head());
    file_head head;
    const char* const last = output.data() + output.size();
    const auto size = std::from_chars(output.data(), last, head.size);
    if (size.ec != std::errc() || size.ptr == last) throw unreadable(clean);
    const auto mode = std::from_chars(size.ptr + 1, last, head.mode, 8);
    if (mode.ec != std::errc() || mode.ptr == last) throw unreadable(clean);
    head.mode &= 0777U;
    head.path.assign(mode.ptr + 1, last);
    if (head.path.empty()) throw unreadable(clean);
    co_return head;
  }

  /// Sends the request to read the file, and returns the response, whose body is the content.
  awaitable<cofferdam::detail::http_exchange> open(file_head head, std::string clean) {
    http_request what = daemon()->file_request("GET", where_.from_home + "/" + head.path);
    cofferdam::detail::http_exchange answer =
        co_await envd::exchange(daemon(), std::move(what), "read a file", nullptr);
    if (answer.status() == 200) co_return answer;
    co_await refuse(std::move(answer), "read", clean);
    throw unreadable(clean);
  }

  const std::shared_ptr<envd>& daemon() const noexcept { return launcher_->daemon(); }

  awaitable<void> close() { co_return; }

 private:
  // The exit codes with which the scripts below report a failure.
  static constexpr int is_missing = 41;
  static constexpr int is_outside = 42;
  static constexpr int is_no_file = 43;
  static constexpr int is_longer = 44;
  static constexpr int is_denied = 45;
  static constexpr int is_no_directory = 46;
  static constexpr int is_incomplete = 47;

  /// Checks a file that is about to be read. $1 is the path, $2 the workspace, $3 the maximum size in bytes. Prints the
  /// size, the mode, and the path with symbolic links resolved.
  static constexpr std::string_view look_script = R"sh(r=$(pwd -P); [ "$r" = "$2" ] || exit 42; r=${r%/}
t=$(readlink -f "$1" && printf x) || { [ -L "$1" ] && exit 42; exit 41; }
t=${t%??}
case $t in "$r"/*) ;; *) exit 42 ;; esac
if [ ! -e "$t" ]; then [ -L "$1" ] && exit 41; p=${1%/*}; [ -e "$p" ] && [ ! -d "$p" ] && exit 46; exit 41; fi
[ -f "$t" ] || exit 43
[ -r "$t" ] || exit 45
s=$(stat -c '%s %a' "$t") || exit 45
[ "${s% *}" -gt "$3" ] && exit 44
printf '%s %s' "$s" "${t#"$r"/}")sh";

  /// Moves an uploaded file to its final path. $1 is the final path, $2 the path of the upload, $3 the size, $4 the
  /// workspace, $5 the mode. If $5 is empty, the mode is that of the file that is replaced, or 644.
  static constexpr std::string_view place_script = R"sh(f=$2 m=$5
die() { rm -f "$f"; exit "$1"; }
r=$(pwd -P); [ "$r" = "$4" ] || die 42; r=${r%/}
p=${1%/*}
g=$p
while [ ! -e "$g" ] && [ ! -L "$g" ]; do g=${g%/*}; done
t=$(readlink -f "$g") || die 42
case $t/ in "$r"/*) ;; *) die 42 ;; esac
[ -d "$g" ] || die 46
[ "$g" = "$p" ] || mkdir -p "$p" || die 1
if [ ! -L "$1" ]; then [ -e "$1" ] && [ ! -f "$1" ] && die 43; fi
[ "$(stat -c %s "$f")" = "$3" ] || die 47
[ "$m" ] || { [ -f "$1" ] && [ ! -L "$1" ] && m=$(stat -c %a "$1"); }
chmod "${m:-644}" "$f" || die 1
mv -f -T "$f" "$1" || die 1)sh";

  static constexpr std::string_view enter_script = R"sh(r=$(pwd -P); [ "$r" = "$2" ] || exit 42; r=${r%/}
[ -e "$1" ] || exit 41
[ -d "$1" ] || exit 46
t=$(cd "$1" && pwd -P) || exit 45
case $t/ in "$r"/*) ;; *) exit 42 ;; esac)sh";

  /// The content of an upload, piece by piece, from bytes or from a file source.
  class upload_pieces {
   public:
    explicit upload_pieces(bytes_view content) : content_(content) {}
    explicit upload_pieces(file_source& source) : source_(&source) {}

    /// Sets texts that are sent before and after the content, such as the head and the end of a multipart form.
    void frame(std::string before, std::string after) {
      before_ = std::move(before);
      after_ = std::move(after);
    }
    /// Returns the number of bytes of the content that were read so far.
    std::uint64_t size() const noexcept { return size_; }
    const std::optional<error>& failure() const noexcept { return failure_; }
    /// Returns the body of the request. This object must exist until the body was sent. If `frame` was not called,
    /// bytes and files are sent without a copy.
    http_body body() {
      const bool is_bare = before_.empty();
      if (is_bare && source_ == nullptr) {
        size_ = content_.size();
        return http_body::borrowed(content_);
      }
      if (is_bare) {
        if (const std::optional<file_range> range = source_->take_range()) {
          size_ = range->size();
          return http_body::of_file(*range);
        }
      }
      const http_body::source pieces = [this] { return next(); };
      if (source_ != nullptr) return http_body(pieces);
      return http_body(pieces, before_.size() + content_.size() + after_.size());
    }

    awaitable<bytes> next() {
      if (!before_.empty()) co_return to_bytes(std::exchange(before_, std::string()));
      bytes piece;
      if (source_ != nullptr) {
        try {
          piece = co_await source_->read(cofferdam::detail::file_piece);
        } catch (const error& reason) {
          failure_ = reason;
          throw;
        }
      } else {
        const bytes_view here = content_.first(std::min(content_.size(), cofferdam::detail::file_piece));
        content_ = content_.subspan(here.size());
        piece.assign(here.begin(), here.end());
      }
      size_ += piece.size();
      if (piece.empty() && !after_.empty()) co_return to_bytes(std::exchange(after_, std::string()));
      co_return piece;
    }

   private:
    bytes_view content_;
    file_source* source_ = nullptr;
    std::string before_;
    std::string after_;
    std::uint64_t size_ = 0;
    std::optional<error> failure_;
  };

  /// Uploads the content to a temporary file outside the workspace, then moves the file to its final path in one step.
  /// \param mode  the permission bits; if empty, those of the replaced file, or 0644.
  awaitable<void> put(std::string clean, upload_pieces& pieces, std::optional<std::uint32_t> mode,
                      file_metadata metadata) {
    const std::string name = ".cofferdam/" + cofferdam::detail::random_digits();
    const std::string absolute = where_.home == "/" ? "/" + name : where_.home + "/" + name;
    const auto uploads_and_moves = [&]() -> awaitable<void> {
      co_await upload(name, pieces, clean, metadata);
      const bool is_adopted = co_await adopt(clean, absolute, pieces.size(), mode);
      if (!is_adopted) co_await place(clean, absolute, pieces.size(), mode);
    };
    const auto clears = [&] { return clear(daemon(), name); };
    co_await cofferdam::detail::with_cleanup_after_failure(uploads_and_moves, clears);
  }

  /// Moves an uploaded file to its path by the warden. Returns false if there is none, or if the home and the workspace
  /// are on different file systems.
  awaitable<bool> adopt(const std::string& clean, const std::string& from, std::uint64_t size,
                        std::optional<std::uint32_t> mode) {
    if (!warden_) co_return false;
    bool is_done = true;
    try {
      co_await warden_->adopt(clean, from, size, mode);
    } catch (const error& failure) {
      const std::error_code cause = failure.cause();
      if (cause == std::error_code(ESTALE, std::system_category())) throw incomplete(clean);
      if (cause != std::errc::operation_not_supported) throw;
      is_done = false;
    }
    co_return is_done;
  }

  /// Moves an uploaded file to its path by a command.
  awaitable<void> place(const std::string& clean, const std::string& from, std::uint64_t size,
                        std::optional<std::uint32_t> mode) {
    std::string digits;
    for (int shift = 6; mode && shift >= 0; shift -= 3) digits += static_cast<char>('0' + ((*mode >> shift) & 7U));
    std::vector<std::string> words{"/bin/sh", "-c", std::string(place_script), "sh", "./" + clean};
    words.push_back(from);
    words.push_back(std::to_string(size));
    words.push_back(where_.root);
    words.push_back(std::move(digits));
    command move = argv(std::move(words));
    command_result result = co_await run_command(std::move(move));
    check(result, "write", clean, 0);
  }

  awaitable<void> upload(std::string name, upload_pieces& pieces, std::string clean, file_metadata metadata) {
    http_request what = daemon()->file_request("POST", name);
    for (const auto& [key, value] : metadata.all()) what.field("X-Metadata-" + key, value);
    if (daemon()->can().takes_raw_uploads()) {
      what.field("Content-Type", "application/octet-stream");
    } else {
      const std::string boundary = "cofferdam-" + cofferdam::detail::random_digits(32);
      pieces.frame("--" + boundary +
                       "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"upload\"\r\n"
                       "Content-Type: application/octet-stream\r\n\r\n",
                   "\r\n--" + boundary + "--\r\n");
      what.field("Content-Type", "multipart/form-data; boundary=" + boundary);
    }
    http_body body = pieces.body();
    // envd, a program in Go, receives a large body in three quarters of the time if the body has no Content-Length.
    if (body.size() && *body.size() >= large_body) body = std::move(body).in_chunks();
    what.body(std::move(body));
    cofferdam::detail::http_exchange answer =
        co_await envd::exchange(daemon(), std::move(what), "write a file", &pieces.failure());
    if (answer.status() == 200) {
      co_await answer.read_all(max_answer);
      co_return;
    }
    co_await refuse(std::move(answer), "write", clean);
  }

  static awaitable<void> clear(std::shared_ptr<envd> there, std::string name) {
    try {
      boost::json::object message;
      message["path"] = cofferdam::detail::json_text(name);
      co_await envd::call(there, "/filesystem.Filesystem/Remove", std::move(message), "remove a file",
                          std::chrono::milliseconds(std::chrono::seconds(5)), true);
    } catch (const error&) {  // the caller gets the error that has led to this removal
    }
  }

  /// Throws the error for a failed response; it never returns normally.
  awaitable<void> refuse(cofferdam::detail::http_exchange answer, const char* doing, std::string clean) {
    const int status = answer.status();
    bytes body = co_await answer.read_all(max_answer);
    const std::string message = daemon()->redact().clean(said_message(daemon()->redact().clean(as_text(body))));
    co_await envd::check_proxy(daemon(), status, message, doing);
    const std::string what = std::string(doing) + " " + cofferdam::detail::shown_path(clean);
    if (status == 404) throw cofferdam::detail::path_error(ENOENT, doing, clean);
    if (status == 507) throw cofferdam::detail::path_error(ENOSPC, doing, clean);
    const error refused = refused_file_error(what, status, message);
    throw refused;
  }

  void require_metadata() const {
    if (!daemon()->can().stores_metadata())
      throw error(
          exec_errc::unsupported,
          "e2b: the sandbox's daemon is older than 0.6.2, or of an unknown version, so it cannot store metadata "
          "of files; rebuild its template");
  }

  /// Returns the path of a file as it stands in a message of the daemon.
  /// \param clean  relative to the workspace.
  boost::json::string plain_path(const std::string& clean) const {
    if (!cofferdam::detail::is_valid_utf8(clean))
      throw error(exec_errc::invalid_argument, "e2b: read the metadata of " + cofferdam::detail::shown_path(clean) +
                                                   ": the path is not UTF-8; rename the file");
    return cofferdam::detail::json_text(clean == "." ? where_.from_home : where_.from_home + "/" + clean);
  }

  /// Reads the metadata in the daemon's description of a file. Ignores what this library could not have written.
  static file_metadata metadata_in(const boost::json::object& entry) {
    file_metadata result;
    const boost::json::object* const texts = cofferdam::detail::object_at(entry, "metadata");
    if (texts == nullptr) return result;
    for (const auto& [key, value] : *texts) {
      const boost::json::string* const text = value.if_string();
      if (text == nullptr) continue;
      try {
        result.add(std::string(key.data(), key.size()), std::string(cofferdam::detail::view_of(*text)));
      } catch (const error&) {  // written by another program, in another form
      }
    }
    return result;
  }

  static error incomplete(const std::string& path) {
    return error(exec_errc::io_error,
                 "write " + cofferdam::detail::shown_path(path) + ": the transfer was incomplete; try again");
  }
  static error unreadable(const std::string& path) {
    return error(exec_errc::io_error, "e2b: read " + cofferdam::detail::shown_path(path) +
                                          ": the sandbox's description of the file is invalid");
  }
  static error too_large(const std::string& path, std::size_t max_bytes) {
    return error(exec_errc::too_large, "read " + cofferdam::detail::shown_path(path) + ": longer than " +
                                           std::to_string(max_bytes) + " bytes");
  }

  static void check(const command_result& result, const char* doing, const std::string& path, std::size_t max_bytes) {
    using cofferdam::detail::path_error;
    if (result.ok()) return;
    const std::string what = std::string(doing) + " " + cofferdam::detail::shown_path(path) + ": ";
    switch (result.exit_code()) {
      case is_missing: throw path_error(ENOENT, doing, path);
      case is_outside: throw error(exec_errc::outside_workspace, what + "a symbolic link leads out of the workspace");
      case is_no_file: throw error(exec_errc::not_a_file, what + "not a regular file");
      case is_longer: throw too_large(path, max_bytes);
      case is_denied: throw path_error(EACCES, doing, path);
      case is_no_directory: throw path_error(ENOTDIR, doing, path);
      case is_incomplete: throw incomplete(path);
      default: cofferdam::detail::throw_file_failure(result, doing, path);
    }
  }

  static constexpr std::size_t max_answer = std::size_t{256} * 1024;

  std::shared_ptr<envd_launcher> launcher_;
  workspace_place where_;
  std::vector<std::string> variables_;
  runner run_;                             // empty: the daemon runs the small commands
  std::shared_ptr<session_files> warden_;  // null: commands do everything
};

/// A source of files of a sandbox. It streams the content of one file after another.
class sandbox_file_source final : public file_source {
 public:
  sandbox_file_source(sandbox_files files, std::vector<file_request> requests)
      : files_(std::move(files)), requests_(std::move(requests)) {}

  awaitable<std::optional<file_header>> next() override {
    current_.reset();
    if (at_ == requests_.size()) co_return std::nullopt;
    const file_request& request = requests_[at_++];
    std::optional<file_header> header;
    try {
      const std::string clean = workspace_path(request.path(), files_.root());
      const sandbox_files::file_head head = co_await files_.look(clean, sandbox_files::any_size);
      cofferdam::detail::http_exchange answer = co_await files_.open(head, clean);
      current_.emplace(std::move(answer));
      header.emplace(request.path(), request.destination(), file_type::regular, head.size, head.mode);
    } catch (const error& failure) {
      if (cofferdam::detail::ends_everything(failure)) throw;
      header.emplace(request.path(), failure);
    }
    co_return header;
  }

  awaitable<bytes> read(std::size_t max_bytes) override {
    if (!current_ || max_bytes == 0) co_return bytes();
    bytes piece(std::min(max_bytes, cofferdam::detail::file_piece));
    std::size_t have = 0;
    std::optional<error> failure;
    try {
      while (have < piece.size()) {
        const std::size_t got = co_await current_->read_some(std::span(piece).subspan(have));
        if (got == 0) break;
        have += got;
      }
    } catch (const error& reason) {
      if (reason.code() == exec_errc::cancelled) throw;
      failure = reason;
    }
    if (failure) {
      current_.reset();
      const error why = co_await files_.daemon()->explain(*failure, "read a file");
      throw why;
    }
    piece.resize(have);
    co_return piece;
  }

 private:
  sandbox_files files_;
  std::vector<file_request> requests_;
  std::size_t at_ = 0;
  std::optional<cofferdam::detail::http_exchange> current_;
};

inline awaitable<std::unique_ptr<file_source>> sandbox_files::get_files(std::vector<file_request> requests) {
  std::unique_ptr<file_source> source = std::make_unique<sandbox_file_source>(*this, std::move(requests));
  co_return source;
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b::detail
