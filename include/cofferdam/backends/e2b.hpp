// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b/account.hpp>
#include <cofferdam/backends/e2b/create_gate.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/detail/sandbox.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_files.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/backends/e2b/process_follower.hpp>
#include <cofferdam/backends/e2b/running_process.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>
#include <cofferdam/backends/e2b/secret.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bulk_file_environment.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_transfer.hpp>
#include <cofferdam/core/listing_environment.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/transfer.hpp>
#include <cofferdam/core/workspace_path.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::e2b {

class code_interpreter;

/// An open sandbox. Models every refinement.
///
/// Its commands are processes of the sandbox's daemon, each with a small script around it, in a session of its own: a time
/// limit, a cancellation and a `process` that is dropped end all of that session and all that carries the command's
/// variables (SIGTERM, the grace, SIGKILL). What a command leaves behind in its session ends with it, and so does what
/// still has its output open; what has left both goes on until the sandbox ends. A hostile command can make it seem that it
/// has ended with another exit code. Without a terminal, death by SIGINT or SIGPIPE looks like exit code 130 or 141.
/// `background_policy::keep` is error{errc::unsupported}.
/// The sandbox needs /bin/sh, and for files cat, stat, readlink, mv, mkdir, find; with `setsid` whole trees can be ended.
///
/// Where this program dies, or drops it without `close()` and ends, the sandbox ends when its `lifetime` is over. While
/// commands run, and whenever it is used, at least half of that lies before it.
/// \par Threads  the executor it was opened on. Movable while idle.
class environment {
 public:
  explicit environment(std::shared_ptr<detail::sandbox> inside) : inside_(std::move(inside)) {}
  environment(environment&&) noexcept = default;
  environment& operator=(environment&& other) noexcept {
    if (this != &other) {
      if (inside_) inside_->abandon();
      inside_ = std::move(other.inside_);
    }
    return *this;
  }
  ~environment() {
    if (inside_) inside_->abandon();
  }

  /// Runs a command to its end. What it does is the result, its time limit included. A command that may have started is
  /// never sent again.
  /// \throws error{errc::environment_closed}; error{errc::outside_workspace, not_found, not_a_directory} for its working
  ///         directory; error{errc::provider_lost} where the sandbox or the connection is gone, with what had arrived.
  /// \par Cancellation  terminal: SIGTERM, the grace, SIGKILL to all that the command has started; then error{errc::cancelled}.
  awaitable<command_result> run_command(command c) { return detail::sandbox::run(get(), std::move(c)); }

  /// Starts a command. One that cannot be started yields a finished process with the result that says why.
  /// \throws as `run_command`.
  awaitable<process> start(command c) { return detail::sandbox::start(get(), std::move(c)); }

  awaitable<bytes> read_file(std::string path, std::size_t most) { return read(get(), std::move(path), most); }
  awaitable<void> write_file(std::string path, bytes_view content) { return write(get(), std::move(path), content); }
  awaitable<entry> stat(std::string path) { return stat_of(get(), std::move(path)); }
  awaitable<std::vector<entry>> list(std::string path, list_options options = list_options()) {
    return list_of(get(), std::move(path), options);
  }
  awaitable<void> make_directory(std::string path) { return make(get(), std::move(path)); }
  awaitable<void> remove(std::string path) { return remove_in(get(), std::move(path)); }
  awaitable<void> rename(std::string from, std::string to) { return rename_in(get(), std::move(from), std::move(to)); }
  awaitable<transfer> put_files(file_source& source) { return put(get(), source); }
  awaitable<std::unique_ptr<file_source>> get_files(std::vector<file_request> requests) {
    return fetch(get(), std::move(requests));
  }

  /// Makes the sandbox stand still, its memory kept, until `resume()`; commands begun meanwhile wait. It costs storage
  /// until it is resumed or ended, and its life does not run.
  /// \throws error{errc::unsupported} while commands run, whose output would be lost.
  awaitable<void> pause() { return detail::sandbox::pause(get()); }
  /// Lets it go on.
  awaitable<void> resume() { return detail::sandbox::resume(get()); }
  /// Keeps a copy of the sandbox. \return  a name for `provider::template_id`.
  awaitable<std::string> snapshot() {
    get()->require_open();
    return get()->service()->snapshot(get()->id());
  }

  /// Ends the sandbox so long from now, sooner or later than it would have ended; whole seconds, rounded up.
  awaitable<void> set_lifetime(std::chrono::milliseconds time) { return detail::sandbox::set_lifetime(get(), time); }
  /// How busy it is; may be empty where it is new.
  awaitable<std::vector<sandbox_metrics>> metrics() {
    get()->require_open();
    return get()->service()->metrics(get()->id());
  }

  /// The newest lines of what the service has written down about it, the oldest of them first; a thousand at most.
  /// \throws error{errc::unsupported} or another of the service's own answers where it keeps none.
  awaitable<std::vector<sandbox_log_line>> logs() {
    get()->require_open();
    return get()->service()->logs(get()->id());
  }

  /// What the sandbox's daemon has started and still runs, for whomever.
  awaitable<std::vector<running_process>> processes() { return list_processes(get()); }
  /// Kills one of them, and not what it has started. \return  false where there is no such process.
  awaitable<bool> end_process(std::int64_t pid) { return kill_process(get(), pid); }

  /// Hears what one of them says from now on.
  /// \throws error{errc::not_found} where there is no such process, at the latest by the follower.
  awaitable<process_follower> follow(std::int64_t pid) { return begin_following(get(), pid); }

  /// Hears what happens in a folder from now on.
  /// \param path   relative to the workspace; `.` is the workspace.
  /// \param depth  the folder alone, or also all folders beneath it.
  /// \throws error{errc::not_found}; error{errc::unsupported} where the daemon cannot.
  awaitable<folder_watch> watch(std::string path, watch_depth depth = watch_depth::folder) {
    return begin_watch(get(), std::move(path), depth);
  }

  /// URLs by which anybody who has them can read (GET) or write (POST, as `multipart/form-data`) one file. They are as good
  /// as a key for that file.
  /// \param path        relative to the workspace. Links are followed there, as root.
  /// \param expiration  seconds since 1970; nothing: as long as the sandbox lives.
  std::string download_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const {
    return url(path, file_access::read, expiration);
  }
  std::string upload_url(const std::string& path, std::optional<std::int64_t> expiration = std::nullopt) const {
    return url(path, file_access::write, expiration);
  }

  /// The sandbox's id, by which `in_sandbox` finds it again.
  const std::string& id() const { return get()->id(); }
  /// What the service said of it when it was opened.
  const sandbox_info& info() const { return get()->info(); }
  /// The workspace's path in the sandbox.
  const std::string& workspace() const { return get()->where().root; }
  /// Where a port of it is reached: a server that a command has started, for example.
  std::string port_url(std::uint16_t port) const {
    return get()->service()->who().sandbox(port, get()->id(), get()->info().domain()).text();
  }
  /// Ends everything, and the sandbox; one that was connected to only loses what our commands started. Whoever awaits a
  /// command gets error{errc::environment_closed}. Not cancelled; a second call waits for the first.
  /// \throws error{errc::provider_lost} where the service cannot be asked any more: then the sandbox ends by itself.
  awaitable<void> close() {
    const std::shared_ptr<detail::sandbox> inside = get();
    return cofferdam::detail::shielded([inside] { return detail::sandbox::close(inside); });
  }

 private:
  friend class code_interpreter;
  using shared = std::shared_ptr<detail::sandbox>;

  const shared& get() const {
    if (!inside_) throw error(errc::environment_closed, "e2b: the environment was moved from");
    return inside_;
  }

  std::string url(const std::string& path, file_access access, std::optional<std::int64_t> expiration) const {
    get()->require_open();
    const std::string clean = workspace_path(path, get()->where().root);
    const detail::envd& place = *get()->place();
    return file_url(place.base(), get()->where().from_home + "/" + clean, access, place.user(), place.token(),
                    expiration);
  }

  static awaitable<bytes> read(shared inside, std::string path, std::size_t most) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    bytes content = co_await files.read_file(std::move(path), most);
    co_return content;
  }
  static awaitable<void> write(shared inside, std::string path, bytes_view content) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    co_await files.write_file(std::move(path), content);
  }
  static awaitable<entry> stat_of(shared inside, std::string path) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    entry found = co_await cofferdam::stat(files, workspace_path_or_root(path, files.root()));
    co_return found;
  }
  static awaitable<std::vector<entry>> list_of(shared inside, std::string path, list_options options) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    std::vector<entry> found = co_await cofferdam::list(files, workspace_path_or_root(path, files.root()), options);
    co_return found;
  }
  static awaitable<void> make(shared inside, std::string path) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    co_await cofferdam::make_directory(files, workspace_path_or_root(path, files.root()));
  }
  static awaitable<void> remove_in(shared inside, std::string path) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    co_await cofferdam::remove(files, workspace_path(path, files.root()));
  }
  static awaitable<void> rename_in(shared inside, std::string from, std::string to) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    std::string target = workspace_path(to, files.root());
    co_await cofferdam::rename(files, workspace_path(from, files.root()), std::move(target));
  }
  static awaitable<transfer> put(shared inside, file_source& source) {
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    const auto one = [&files, &source](const file_header& header) { return files.put_one(source, header); };
    transfer report = co_await cofferdam::detail::put_each(source, one);
    co_return report;
  }
  static awaitable<std::unique_ptr<file_source>> fetch(shared inside, std::vector<file_request> requests) {
    co_await inside->until_running();
    std::unique_ptr<file_source> source =
        std::make_unique<detail::sandbox_file_source>(inside->files(), std::move(requests));
    co_return source;
  }

  static awaitable<std::vector<running_process>> list_processes(shared inside) {
    co_await inside->until_running();
    boost::json::object nothing;
    const boost::json::object said = co_await detail::envd::ask(inside->place(), "/process.Process/List",
                                                                std::move(nothing), "list the processes", true);
    std::vector<running_process> all;
    if (const boost::json::array* const found = cofferdam::detail::array_at(said, "processes"))
      for (const boost::json::value& each : *found)
        if (const boost::json::object* const one = each.if_object()) all.emplace_back(*one);
    co_return all;
  }

  static awaitable<bool> kill_process(shared inside, std::int64_t pid) {
    constexpr const char* doing = "end a process";
    co_await inside->until_running();
    boost::json::object process;
    process["pid"] = pid;
    boost::json::object message;
    message["process"] = std::move(process);
    message["signal"] = "SIGNAL_SIGKILL";
    connect_answer answer =
        co_await detail::envd::call(inside->place(), "/process.Process/SendSignal", std::move(message), doing,
                                    inside->place()->request_timeout(), true);
    if (!answer.ok() && answer.failure()->code() == connect_code::not_found) co_return false;
    inside->place()->require_ok(answer, doing);
    co_return true;
  }

  static awaitable<process_follower> begin_following(shared inside, std::int64_t pid) {
    co_await inside->until_running();
    boost::json::object process;
    process["pid"] = pid;
    boost::json::object message;
    message["process"] = std::move(process);
    connect_stream stream =
        co_await detail::envd::stream(inside->place(), "/process.Process/Connect", std::move(message),
                                      "follow a process", std::string(), std::nullopt);
    co_return process_follower(inside->place(), std::move(stream));
  }

  static awaitable<folder_watch> begin_watch(shared inside, std::string path, watch_depth depth) {
    constexpr const char* doing = "watch a folder";
    co_await inside->until_running();
    detail::sandbox_files files = inside->files();
    const std::string there = co_await files.directory_path(std::move(path));
    const bool below = depth == watch_depth::tree;
    if (below && !inside->place()->can().watches_below())
      throw error(errc::unsupported, "e2b: the sandbox's daemon cannot watch what is beneath a folder");
    boost::json::object message;
    message["path"] = cofferdam::detail::json_text(inside->where().from_home + (there == "." ? "" : there.substr(1)));
    if (below) message["recursive"] = true;
    connect_stream stream = co_await detail::envd::stream(inside->place(), "/filesystem.Filesystem/WatchDir",
                                                          std::move(message), doing, std::string(), std::nullopt);
    // The first message says that it has begun, or there is none.
    const std::optional<std::string_view> first = co_await stream.next();
    if (!first && stream.failure()) throw inside->place()->refusal(*stream.failure(), doing);
    co_return folder_watch(inside->place(), std::move(stream));
  }

  shared inside_;
};

/// Runs commands in a sandbox of E2B's, or of a service that speaks as E2B does, one for each environment:
/// `e2b::from_template("base")`.
///
/// The key is the environment variable E2B_API_KEY, the service e2b.app, unless variables (E2B_DOMAIN, E2B_API_URL,
/// E2B_SANDBOX_URL) or setters say otherwise; variables are read when it is opened. TLS always verifies. No error, warning
/// or result has the key or a token in it. Redirects are not followed.
///
/// Three limits that are not each other: `request_timeout` is for one call to the service, `default_timeout` for a command,
/// `lifetime` for the sandbox. Calls that the service is too busy for (429, 503) are made again with growing pauses, at
/// least those it asks for; others only where that cannot do anything twice.
///
/// The workspace is the folder `workspace` in the user's home, made where it is missing; HOME is the workspace.
/// A value: holds no connection. Setters chain.
class provider {
 public:
  explicit provider(std::shared_ptr<const detail::sandbox_settings> settings) : settings_(std::move(settings)) {}

  /// The key, instead of E2B_API_KEY's.
  provider&& api_key(std::string key) && {
    return with([&](detail::sandbox_settings& to) { to.who.api_key = secret(std::move(key)); });
  }
  /// The service's domain: `e2b.app`, or that of one of your own.
  provider&& domain(std::string name) && {
    return with([&](detail::sandbox_settings& to) { to.who.domain = std::move(name); });
  }
  /// The control plane's base URL. Default: `https://api.DOMAIN`.
  provider&& api_url(std::string url) && {
    return with([&](detail::sandbox_settings& to) { to.who.api_url = std::move(url); });
  }
  /// One base URL for all sandboxes; `{port}`, `{id}` and `{domain}` in it are replaced. Default: `https://PORT-ID.DOMAIN`.
  provider&& sandbox_url(std::string url) && {
    return with([&](detail::sandbox_settings& to) { to.who.sandbox_url = std::move(url); });
  }
  /// Everything about who asks which service at once.
  provider&& account(account_options all) && {
    return with([&](detail::sandbox_settings& to) { to.who = std::move(all); });
  }
  /// Trusts the certificates in this PEM file instead of the system's.
  provider&& ca_file(std::string path) && {
    return with([&](detail::sandbox_settings& to) { to.who.ca_file = std::move(path); });
  }
  /// Allows `http://` to other machines. Whoever sits on the way reads the key, and all else.
  provider&& allow_plain_http() && {
    return with([](detail::sandbox_settings& to) { to.who.allow_plain_http = true; });
  }
  /// Which form of the calls is used. Default: the first, and the second where the service does not know the first.
  provider&& form(dialect which) && {
    return with([&](detail::sandbox_settings& to) { to.who.form = which; });
  }
  /// The limit of one call to the service. Default: 60 s; more than zero.
  provider&& request_timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "request_timeout");
    return with([&](detail::sandbox_settings& to) { to.who.request_timeout = limit; });
  }
  /// The pause before a call is made again; doubled each time. Default: 250 ms; more than zero.
  provider&& first_pause(std::chrono::milliseconds time) && {
    require_positive(time, "first_pause");
    return with([&](detail::sandbox_settings& to) { to.who.first_pause = time; });
  }
  /// How often sandboxes may be created; shared by all copies of the gate.
  provider&& gate(create_gate one) && {
    return with([&](detail::sandbox_settings& to) { to.who.gate = std::move(one); });
  }

  /// The template, a snapshot's name included. Default: `base`.
  provider&& template_id(std::string name) && {
    return with([&](detail::sandbox_settings& to) { to.create.template_id = std::move(name); });
  }
  /// How long the sandbox lives when nobody uses it. Default: 5 minutes; whole seconds, rounded up. Services have a most.
  provider&& lifetime(std::chrono::milliseconds time) && {
    require_positive(time, "lifetime");
    return with([&](detail::sandbox_settings& to) { to.create.lifetime = time; });
  }
  /// Adds a word to the sandbox's metadata.
  provider&& metadata(std::string key, std::string value) && {
    return with([&](detail::sandbox_settings& to) { to.create.metadata[std::move(key)] = std::move(value); });
  }
  /// Sets a variable for all that runs in the sandbox.
  provider&& variable(std::string name, std::string value) && {
    static_cast<void>(command().variable(name, value));  // what a variable may be
    return with([&](detail::sandbox_settings& to) { to.create.variables[std::move(name)] = std::move(value); });
  }
  /// Lets it not reach the internet. Default: what the service does, which is to let it, for most.
  provider&& without_internet() && {
    return with([](detail::sandbox_settings& to) { to.create.allow_internet = false; });
  }
  /// What it may connect to, and who to it.
  provider&& network(network_rules rules) && {
    return with([&](detail::sandbox_settings& to) { to.create.network = std::move(rules); });
  }
  /// Lets the sandbox's daemon take anybody who knows its address, without a token: for services that know no other.
  provider&& without_token() && {
    return with([](detail::sandbox_settings& to) { to.create.secure = false; });
  }
  /// More members for the request that creates, over those of the options.
  provider&& create_fields(boost::json::object fields) && {
    return with([&](detail::sandbox_settings& to) { to.create.extra = std::move(fields); });
  }

  /// Whom commands run as. Default: the template's own user.
  provider&& user(std::string name) && {
    if (name.find_first_of(std::string_view(":\0\r\n", 4)) != std::string::npos)
      throw error(errc::invalid_argument, "e2b: a user's name holds no ':', no NUL and no line break");
    return with([&](detail::sandbox_settings& to) { to.user = std::move(name); });
  }
  /// The folder that is the workspace: from the user's home, or absolute. Default: `workspace`.
  provider&& workspace(std::string path) && {
    const bool is_absolute = path.starts_with('/');
    const std::string clean = workspace_path_or_root(path, is_absolute ? "/" : "");
    return with([&](detail::sandbox_settings& to) { to.workspace = is_absolute ? "/" + clean : clean; });
  }
  /// The time limit of commands that have none of their own. Default: 5 minutes; `no_timeout` for none.
  provider&& default_timeout(std::chrono::milliseconds limit) && {
    require_positive(limit, "default_timeout");
    return with([&](detail::sandbox_settings& to) { to.commands.default_timeout = limit; });
  }
  /// From SIGTERM to SIGKILL. Default: 500 ms; zero or more.
  provider&& kill_grace(std::chrono::milliseconds time) && {
    if (time < std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, "e2b: kill_grace must not be negative");
    return with([&](detail::sandbox_settings& to) { to.commands.kill_grace = time; });
  }
  /// Takes these variables for the process's own: for tests.
  provider&& variables_from(surroundings around) && {
    return with([&](detail::sandbox_settings& to) { to.around = std::move(around); });
  }

  /// Creates a sandbox, or finds it.
  /// \throws error{errc::invalid_argument} where there is no key, or an option is none; error{errc::permission_denied} where
  ///         the service does not take the key; error{errc::not_found} for a template or sandbox that is not there;
  ///         error{errc::provider_failed} where the service cannot be reached or does not do it; error{errc::cancelled}.
  ///         Nothing is left behind, as far as the service can be asked; what is ends with its lifetime.
  awaitable<environment> open() const { return open_with(settings_); }

 private:
  static awaitable<environment> open_with(std::shared_ptr<const detail::sandbox_settings> settings) {
    asio::any_io_executor executor = co_await asio::this_coro::executor;
    std::shared_ptr<detail::sandbox> inside = co_await detail::sandbox::open(std::move(executor), std::move(settings));
    co_return environment(std::move(inside));
  }

  static void require_positive(std::chrono::milliseconds time, const char* name) {
    if (time <= std::chrono::milliseconds::zero())
      throw error(errc::invalid_argument, std::string("e2b: ") + name + " must be longer than zero");
  }

  template <class Change>
  provider&& with(Change change) {
    auto copy = std::make_shared<detail::sandbox_settings>(*settings_);
    change(*copy);
    settings_ = std::move(copy);
    return std::move(*this);
  }

  std::shared_ptr<const detail::sandbox_settings> settings_;
};

/// Commands in new sandboxes of a template: `e2b::from_template("base")`.
/// \param name  a template's id or name, or a snapshot's.
inline provider from_template(std::string name = "base") {
  return provider(std::make_shared<detail::sandbox_settings>()).template_id(std::move(name));
}

/// Commands in a sandbox that is there, and that `close()` leaves running. It is resumed where it is paused, and lives for
/// `lifetime` from then on, or longer where it would have. The variables of the options are given to each command.
/// \param id  as `environment::id()` says it.
/// \throws error{errc::invalid_argument} for what is no id.
inline provider in_sandbox(std::string id) {
  check_sandbox_id(id);
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->connect_to = std::move(id);
  return provider(std::move(settings));
}

}  // namespace cofferdam::inline v0::e2b
