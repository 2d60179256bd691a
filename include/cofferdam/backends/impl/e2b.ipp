// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/e2b/account_options.hpp>
#include <cofferdam/backends/e2b/command_transport.hpp>
#include <cofferdam/backends/e2b/create_options.hpp>
#include <cofferdam/backends/e2b/detail/account.hpp>
#include <cofferdam/backends/e2b/detail/sandbox.hpp>
#include <cofferdam/backends/e2b/detail/sandbox_files.hpp>
#include <cofferdam/backends/e2b/detail/suspension.hpp>
#include <cofferdam/backends/e2b/file_metadata.hpp>
#include <cofferdam/backends/e2b/folder_watch.hpp>
#include <cofferdam/backends/e2b/process_follower.hpp>
#include <cofferdam/backends/e2b/sandbox_info.hpp>
#include <cofferdam/backends/e2b/sandbox_list.hpp>
#include <cofferdam/backends/e2b/signed_url.hpp>
#include <cofferdam/backends/e2b/surroundings.hpp>
#include <cofferdam/backends/e2b/suspend_options.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/bytes.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/file_operations.hpp>
#include <cofferdam/core/file_system.hpp>
#include <cofferdam/core/guest_network.hpp>
#include <cofferdam/core/printable_text.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/secret_string.hpp>
#include <cofferdam/core/transfer_result.hpp>
#include <cofferdam/core/workspace_path.hpp>
#include <cofferdam/detail/core/environment_operations.hpp>
#include <cofferdam/detail/core/file_transfer.hpp>
#include <cofferdam/detail/core/home_strand.hpp>
#include <cofferdam/detail/net/json_object_view.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/this_coro.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::e2b {

COFFERDAM_DECL environment::environment() = default;

COFFERDAM_DECL environment::environment(std::shared_ptr<detail::sandbox> inside) : handle_(std::move(inside)) {}

COFFERDAM_DECL environment::environment(environment&&) noexcept = default;

COFFERDAM_DECL environment& environment::operator=(environment&&) noexcept = default;

COFFERDAM_DECL environment::~environment() = default;

COFFERDAM_DECL awaitable<command_result> environment::run_command(command c) {
  return handle_.run_command(std::move(c));
}

COFFERDAM_DECL awaitable<process> environment::start(command c) { return handle_.start(std::move(c)); }

COFFERDAM_DECL awaitable<bytes> environment::read_file(std::string path, std::size_t max_bytes) {
  return handle_.read_file(std::move(path), max_bytes);
}

COFFERDAM_DECL awaitable<void> environment::write_file(std::string path, bytes_view content) {
  return handle_.write_file(std::move(path), content);
}

COFFERDAM_DECL awaitable<void> environment::write_file(std::string path, bytes_view content, file_metadata metadata) {
  return get()->home().run(
      [inside = get(), path = std::move(path), content, metadata = std::move(metadata)]() -> awaitable<void> {
        return detail::sandbox::with_files(inside, [path, content, metadata](detail::routed_files& files) {
          return files.write_file(path, content, metadata);
        });
      });
}

COFFERDAM_DECL awaitable<file_metadata> environment::metadata_of(std::string path) {
  return get()->home().run([inside = get(), path = std::move(path)] {
    return detail::sandbox::with_files(inside, [path](detail::routed_files& files) { return files.metadata_of(path); });
  });
}

COFFERDAM_DECL awaitable<std::map<std::string, file_metadata>> environment::metadata_in(std::string path) {
  return get()->home().run([inside = get(), path = std::move(path)] {
    return detail::sandbox::with_files(inside,
                                       [path](detail::routed_files& files) { return files.all_metadata(path); });
  });
}

COFFERDAM_DECL file_system environment::files() { return handle_.files(); }

COFFERDAM_DECL guest_network environment::network() { return handle_.network(); }

COFFERDAM_DECL awaitable<void> environment::pause(pause_options options) {
  return get()->home().run([inside = get(), options] { return detail::suspension::pause(inside, options); });
}

COFFERDAM_DECL awaitable<void> environment::resume(stored_state from) {
  return get()->home().run([inside = get(), from] { return detail::suspension::resume(inside, from); });
}

COFFERDAM_DECL awaitable<std::string> environment::snapshot(snapshot_options options) {
  return get()->home().run(
      [inside = get(), options = std::move(options)] { return detail::suspension::snapshot(inside, options); });
}

COFFERDAM_DECL awaitable<std::vector<forked>> environment::fork(std::size_t count) {
  return get()->home().run([inside = get(), count] { return make_copies(inside, count); });
}

COFFERDAM_DECL awaitable<void> environment::detach() {
  return get()->home().run([inside = get()] { return detail::suspension::detach(inside); });
}

COFFERDAM_DECL awaitable<void> environment::update_network(network_rules rules, std::optional<bool> allow_internet) {
  return get()->home().run([inside = get(), rules = std::move(rules), allow_internet] {
    inside->require_open();
    return inside->service()->update_network(inside->id(), rules, allow_internet);
  });
}

COFFERDAM_DECL awaitable<void> environment::set_lifetime(std::chrono::milliseconds time) {
  return get()->home().run([inside = get(), time] { return detail::sandbox::set_lifetime(inside, time); });
}

COFFERDAM_DECL awaitable<std::vector<sandbox_metrics>> environment::metrics(std::optional<std::int64_t> from,
                                                                            std::optional<std::int64_t> to) {
  return get()->home().run([inside = get(), from, to] {
    inside->require_open();
    return inside->service()->metrics(inside->id(), from, to);
  });
}

COFFERDAM_DECL awaitable<std::vector<sandbox_log_line>> environment::logs() {
  return get()->home().run([inside = get()] {
    inside->require_open();
    return inside->service()->logs(inside->id());
  });
}

COFFERDAM_DECL awaitable<std::vector<running_process>> environment::processes() {
  return get()->home().run([inside = get()] { return list_processes(inside); });
}

COFFERDAM_DECL awaitable<bool> environment::end_process(std::int64_t pid) {
  return get()->home().run([inside = get(), pid] { return kill_process(inside, pid); });
}

COFFERDAM_DECL awaitable<void> environment::send_input(std::int64_t pid, bytes_view data) {
  return get()->home().run([inside = get(), pid, data] { return write_input(inside, pid, data); });
}

COFFERDAM_DECL awaitable<void> environment::end_input(std::int64_t pid) {
  return get()->home().run([inside = get(), pid] { return close_input(inside, pid); });
}

COFFERDAM_DECL awaitable<process_follower> environment::follow(std::int64_t pid) {
  return get()->home().run([inside = get(), pid] { return begin_following(inside, pid); });
}

COFFERDAM_DECL awaitable<folder_watch> environment::watch(std::string path, watch_depth depth) {
  return get()->home().run(
      [inside = get(), path = std::move(path), depth] { return begin_watch(inside, path, depth); });
}

COFFERDAM_DECL std::string environment::download_url(const std::string& path,
                                                     std::optional<std::int64_t> expiration) const {
  return url(path, file_access::read, expiration);
}

COFFERDAM_DECL std::string environment::upload_url(const std::string& path,
                                                   std::optional<std::int64_t> expiration) const {
  return url(path, file_access::write, expiration);
}

COFFERDAM_DECL const std::string& environment::id() const { return get()->id(); }

COFFERDAM_DECL const sandbox_info& environment::info() const { return get()->info(); }

COFFERDAM_DECL const std::string& environment::workspace() const { return get()->where().root; }

COFFERDAM_DECL std::string environment::port_url(std::uint16_t port) const {
  if (!get()->service()->who().has_port_addresses())
    throw error(
        exec_errc::unsupported,
        "e2b: port_url: the URL of a port is not known, because sandbox_url (E2B_SANDBOX_URL) is one address for "
        "all ports; use a URL with {port} and {id}, such as https://{port}-{id}.example.org");
  return get()->service()->who().sandbox(port, get()->id(), get()->info().domain()).text();
}

COFFERDAM_DECL awaitable<void> environment::close() { return handle_.close(); }

COFFERDAM_DECL auto environment::get() const -> const shared& { return handle_.get(); }

COFFERDAM_DECL std::string environment::url(const std::string& path, file_access access,
                                            std::optional<std::int64_t> expiration) const {
  return get()->home().look([&] {
    get()->require_open();
    const std::string clean = workspace_path(path, get()->where().root);
    const detail::envd& daemon = *get()->daemon();
    return file_url(daemon.base(), get()->where().from_home + "/" + clean, access, daemon.user(), daemon.token(),
                    expiration);
  });
}

COFFERDAM_DECL awaitable<std::vector<running_process>> environment::list_processes(shared inside) {
  co_await inside->until_running();
  boost::json::object nothing;
  const boost::json::object response = co_await detail::envd::ask(inside->daemon(), "/process.Process/List",
                                                                  std::move(nothing), "list the processes", true);
  std::vector<running_process> result;
  if (const boost::json::array* const found = cofferdam::detail::array_at(response, "processes"))
    for (const boost::json::value& each : *found)
      if (const boost::json::object* const object = each.if_object()) result.emplace_back(*object);
  const std::int64_t own = inside->warden_pid();
  std::erase_if(result, [own](const running_process& each) { return each.pid() == own; });
  co_return result;
}

COFFERDAM_DECL awaitable<bool> environment::kill_process(shared inside, std::int64_t pid) {
  constexpr const char* doing = "end a process";
  co_await inside->until_running();
  boost::json::object message = detail::envd::process_message(pid);
  message["signal"] = "SIGNAL_SIGKILL";
  cofferdam::detail::connect_answer answer =
      co_await detail::envd::call(inside->daemon(), "/process.Process/SendSignal", std::move(message), doing,
                                  inside->daemon()->request_timeout(), true);
  if (!answer.ok() && answer.failure()->code() == cofferdam::detail::connect_code::not_found) co_return false;
  inside->daemon()->require_ok(answer, doing);
  co_return true;
}

COFFERDAM_DECL awaitable<void> environment::write_input(shared inside, std::int64_t pid, bytes_view data) {
  constexpr const char* doing = "write to a process";
  constexpr std::size_t max_piece = std::size_t{512} * 1024;
  co_await inside->until_running();
  while (!data.empty()) {
    const bytes_view piece = data.first(std::min(data.size(), max_piece));
    boost::json::object message = detail::envd::input_message(pid, "stdin", piece);
    cofferdam::detail::connect_answer answer =
        co_await detail::envd::call(inside->daemon(), "/process.Process/SendInput", std::move(message), doing,
                                    inside->daemon()->request_timeout(), false);
    inside->daemon()->require_ok(answer, doing);
    data = data.subspan(piece.size());
  }
}

COFFERDAM_DECL awaitable<void> environment::close_input(shared inside, std::int64_t pid) {
  constexpr const char* doing = "end the input of a process";
  co_await inside->until_running();
  if (!inside->daemon()->can().closes_input())
    throw error(exec_errc::unsupported,
                "e2b: the sandbox's daemon is older than 0.5.2 and cannot end an input; rebuild its template");
  cofferdam::detail::connect_answer answer =
      co_await detail::envd::call(inside->daemon(), "/process.Process/CloseStdin", detail::envd::process_message(pid),
                                  doing, inside->daemon()->request_timeout(), true);
  inside->daemon()->require_ok(answer, doing);
}

COFFERDAM_DECL awaitable<std::vector<forked>> environment::make_copies(shared inside, std::size_t count) {
  const std::vector<detail::suspension::copy> copies = co_await detail::suspension::fork(inside, count);
  std::vector<forked> result;
  for (const detail::suspension::copy& each : copies) {
    if (const error* const failure = std::get_if<error>(&each))
      result.emplace_back(*failure);
    else
      result.emplace_back(environment(std::get<detail::suspension::pointer>(each)));
  }
  co_return result;
}

COFFERDAM_DECL awaitable<process_follower> environment::begin_following(shared inside, std::int64_t pid) {
  co_await inside->until_running();
  boost::json::object message = detail::envd::process_message(pid);
  cofferdam::detail::connect_stream stream =
      co_await detail::envd::stream(inside->daemon(), "/process.Process/Connect", std::move(message),
                                    "follow a process", std::string(), std::nullopt);
  co_return process_follower(inside->daemon(), std::move(stream));
}

COFFERDAM_DECL awaitable<folder_watch> environment::begin_watch(shared inside, std::string path, watch_depth depth) {
  constexpr const char* doing = "watch a folder";
  co_await inside->until_running();
  const auto checks = [path](auto& files) { return files.directory_path(path); };
  co_await detail::sandbox::with_files(inside, checks);
  const std::string there = workspace_path_or_root(path, inside->where().root);
  const bool below = depth == watch_depth::tree;
  if (below && !inside->daemon()->can().watches_below())
    throw error(exec_errc::unsupported, "e2b: the sandbox's daemon cannot watch the subfolders of a folder");
  boost::json::object message;
  message["path"] = cofferdam::detail::json_text(inside->where().from_home + (there == "." ? "" : "/" + there));
  if (below) message["recursive"] = true;
  cofferdam::detail::connect_stream stream = co_await detail::envd::stream(
      inside->daemon(), "/filesystem.Filesystem/WatchDir", std::move(message), doing, std::string(), std::nullopt);
  // The first message confirms that the watch has begun. If the stream ends before that message, its failure is the
  // reason.
  const std::optional<std::string_view> first = co_await stream.next();
  if (!first && stream.failure()) {
    const error why = co_await detail::envd::ended_by(inside->daemon(), *stream.failure(), doing);
    throw why;
  }
  co_return folder_watch(inside->daemon(), std::move(stream));
}

template <class Change>
provider& provider::with(Change change) {
  auto copy = std::make_shared<detail::sandbox_settings>(*settings_);
  change(*copy);
  settings_ = std::move(copy);
  return *this;
}

COFFERDAM_DECL provider& provider::api_key(std::string key) {
  return with([&](detail::sandbox_settings& to) { to.who.api_key = secret_string(std::move(key)); });
}

COFFERDAM_DECL provider& provider::domain(std::string name) {
  return with([&](detail::sandbox_settings& to) { to.who.domain = std::move(name); });
}

COFFERDAM_DECL provider& provider::api_url(std::string url) {
  return with([&](detail::sandbox_settings& to) { to.who.api_url = std::move(url); });
}

COFFERDAM_DECL provider& provider::sandbox_url(std::string url) {
  return with([&](detail::sandbox_settings& to) { to.who.sandbox_url = std::move(url); });
}

COFFERDAM_DECL provider& provider::account(account_options new_options) {
  return with([&](detail::sandbox_settings& to) { to.who = std::move(new_options); });
}

COFFERDAM_DECL provider& provider::ca_file(std::string path) {
  return with([&](detail::sandbox_settings& to) { to.who.ca_file = std::move(path); });
}

COFFERDAM_DECL provider& provider::allow_plain_http() {
  return with([](detail::sandbox_settings& to) { to.who.allow_plain_http = true; });
}

COFFERDAM_DECL provider& provider::api_dialect(dialect which) {
  return with([&](detail::sandbox_settings& to) { to.who.api_dialect = which; });
}

COFFERDAM_DECL provider& provider::request_timeout(std::chrono::milliseconds limit) {
  require_positive(limit, "request_timeout");
  return with([&](detail::sandbox_settings& to) { to.who.request_timeout = limit; });
}

COFFERDAM_DECL provider& provider::first_pause(std::chrono::milliseconds time) {
  require_positive(time, "first_pause");
  return with([&](detail::sandbox_settings& to) { to.who.first_pause = time; });
}

COFFERDAM_DECL provider& provider::rate_limit(rate_limiter limiter) {
  return with([&](detail::sandbox_settings& to) { to.who.rate_limit = std::move(limiter); });
}

COFFERDAM_DECL provider& provider::template_id(std::string name) {
  return with([&](detail::sandbox_settings& to) { to.create.template_id = std::move(name); });
}

COFFERDAM_DECL provider& provider::lifetime(std::chrono::milliseconds time) {
  require_positive(time, "lifetime");
  return with([&](detail::sandbox_settings& to) { to.create.lifetime = time; });
}

COFFERDAM_DECL provider& provider::metadata(std::string key, std::string value) {
  return with([&](detail::sandbox_settings& to) { to.create.metadata[std::move(key)] = std::move(value); });
}

COFFERDAM_DECL provider& provider::auto_pause(stored_state stored) {
  return with([&](detail::sandbox_settings& to) {
    to.create.auto_pause = true;
    to.create.auto_pause_stores = stored;
  });
}

COFFERDAM_DECL provider& provider::auto_resume() {
  return with([](detail::sandbox_settings& to) { to.create.auto_resume = true; });
}

COFFERDAM_DECL provider& provider::volume(std::string name, std::string path) {
  if (!path.starts_with('/'))
    throw error(exec_errc::invalid_argument,
                "e2b: the path of a volume, \"" + one_line(path, 200) + "\", must be absolute");
  return with([&](detail::sandbox_settings& to) { to.create.volumes[std::move(path)] = std::move(name); });
}

COFFERDAM_DECL provider& provider::variable(std::string name, std::string value) {
  static_cast<void>(command().variable(name, value));  // throws if the name or the value is invalid
  return with([&](detail::sandbox_settings& to) { to.create.variables[std::move(name)] = std::move(value); });
}

COFFERDAM_DECL provider& provider::without_internet() {
  return with([](detail::sandbox_settings& to) { to.create.allow_internet = false; });
}

COFFERDAM_DECL provider& provider::network(network_rules rules) {
  return with([&](detail::sandbox_settings& to) { to.create.network = std::move(rules); });
}

COFFERDAM_DECL provider& provider::without_token() {
  return with([](detail::sandbox_settings& to) { to.create.secure = false; });
}

COFFERDAM_DECL provider& provider::create_fields(boost::json::object fields) {
  return with([&](detail::sandbox_settings& to) { to.create.extra = std::move(fields); });
}

COFFERDAM_DECL provider& provider::by(command_transport how) {
  return with([&](detail::sandbox_settings& to) { to.by = how; });
}

COFFERDAM_DECL provider& provider::user(std::string name) {
  if (name.find_first_of(std::string_view(":\0\r\n", 4)) != std::string::npos)
    throw error(exec_errc::invalid_argument, "e2b: the name of a user must not contain ':', NUL or a line break");
  return with([&](detail::sandbox_settings& to) { to.user = std::move(name); });
}

COFFERDAM_DECL provider& provider::workspace(std::string path) {
  const bool is_absolute = path.starts_with('/');
  const std::string clean = workspace_path_or_root(path, is_absolute ? "/" : "");
  return with([&](detail::sandbox_settings& to) { to.workspace = is_absolute ? "/" + clean : clean; });
}

COFFERDAM_DECL provider& provider::default_timeout(std::chrono::milliseconds limit) {
  require_positive(limit, "default_timeout");
  return with([&](detail::sandbox_settings& to) { to.commands.default_timeout = limit; });
}

COFFERDAM_DECL provider& provider::kill_grace(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, "e2b: kill_grace must not be negative");
  return with([&](detail::sandbox_settings& to) { to.commands.kill_grace = time; });
}

COFFERDAM_DECL provider& provider::variables_from(surroundings around) {
  return with([&](detail::sandbox_settings& to) { to.around = std::move(around); });
}

COFFERDAM_DECL awaitable<environment> provider::open() const { return open_with(settings_); }

COFFERDAM_DECL awaitable<environment> provider::open_with(std::shared_ptr<const detail::sandbox_settings> settings) {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  const cofferdam::detail::home_strand home(std::move(executor));
  const auto opens = [&home, &settings] { return detail::sandbox::open(home.executor(), settings); };
  std::shared_ptr<detail::sandbox> inside = co_await home.run(opens);
  co_return environment(std::move(inside));
}

COFFERDAM_DECL void provider::require_positive(std::chrono::milliseconds time, const char* name) {
  if (time <= std::chrono::milliseconds::zero())
    throw error(exec_errc::invalid_argument, std::string("e2b: ") + name + " must be longer than zero");
}

COFFERDAM_DECL provider from_template(std::string name) {
  return provider(std::make_shared<detail::sandbox_settings>()).template_id(std::move(name));
}

COFFERDAM_DECL provider in_sandbox(std::string id) {
  detail::check_sandbox_id(id);
  auto settings = std::make_shared<detail::sandbox_settings>();
  settings->connect_to = std::move(id);
  return provider(std::move(settings));
}

}  // namespace cofferdam::inline COFFERDAM_ABI::e2b
