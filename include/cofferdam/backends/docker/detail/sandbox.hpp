// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_check.hpp>
#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/create_request.hpp>
#include <cofferdam/backends/docker/detail/adopted_container.hpp>
#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/exec_script.hpp>
#include <cofferdam/backends/docker/detail/exec_session.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/host_link.hpp>
#include <cofferdam/backends/docker/detail/image_build.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/leftovers.hpp>
#include <cofferdam/backends/docker/detail/remove_container.hpp>
#include <cofferdam/backends/docker/detail/warden_volume.hpp>
#include <cofferdam/backends/docker/find_daemon.hpp>
#include <cofferdam/backends/docker/host_view.hpp>
#include <cofferdam/backends/docker/owner.hpp>
#include <cofferdam/backends/docker/way.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/path_advice.hpp>
#include <cofferdam/core/process.hpp>
#include <cofferdam/core/protections.hpp>
#include <cofferdam/core/shielded.hpp>
#include <cofferdam/core/short_pause.hpp>
#include <cofferdam/os/command_keeper.hpp>
#include <cofferdam/os/command_request.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>

#include <boost/json.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

namespace cofferdam::inline v0::docker::detail {

/// What this machine is called.
inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

/// What a recipe says.
class sandbox_settings {
 public:
  std::optional<image_name> name;  ///< or else `build`
  std::optional<build_request> build;
  container_options options;
  daemon_choice daemon;
  command_settings commands;
  std::string shell;
  progress_function progress;
  /// For how long the container may hear nothing of this program. Where the daemon itself is killed, nobody tells the
  /// warden that its stream has ended.
  std::chrono::milliseconds lease{std::chrono::minutes(2)};
  way by = way::automatic;
  std::string adopted;  ///< a container that is not ours; or else `name` or `build`
};

/// A container that commands run in: one of ours, or one that was there. The coroutines of its commands share it.
class sandbox : public std::enable_shared_from_this<sandbox> {
 public:
  static awaitable<std::shared_ptr<sandbox>> open(asio::any_io_executor executor,
                                                  std::shared_ptr<const sandbox_settings> settings) {
    host_view host = host_view::of_this_process();
    std::shared_ptr<engine> api = co_await engine::connect(executor, settings->daemon, host);
    auto one = std::make_shared<sandbox>(std::move(api), std::move(settings));
    std::exception_ptr failure;
    try {
      if (one->is_adopted()) {
        co_await one->adopt(host);
      } else {
        co_await one->make(host);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    if (!failure) co_return one;
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto discards = [one] { return one->discard(); };
    co_await cofferdam::detail::shielded(std::ref(discards));
    co_await asio::this_coro::throw_if_cancelled(throws);
    std::rethrow_exception(failure);
  }

  sandbox(std::shared_ptr<engine> api, std::shared_ptr<const sandbox_settings> settings)
      : api_(std::move(api)), settings_(std::move(settings)) {}
  sandbox(const sandbox&) = delete;
  sandbox& operator=(const sandbox&) = delete;

  /// Does something with whatever runs the commands.
  template <class Work>
  auto with_session(Work work) {
    require_open();
    if (auto* const met = std::get_if<warden_session>(&session_)) return work(*met);
    return work(std::get<exec_session>(session_));
  }
  const std::string& name() const noexcept { return name_; }
  const std::string& id() const noexcept { return is_adopted() ? adopted_ : id_; }

  static awaitable<command_result> run(std::shared_ptr<sandbox> self, command c) {
    self->require_open();
    std::optional<command_result> refusal = refuse_invalid(c);
    if (refusal) co_return std::move(*refusal);
    spawn_request request = co_await self->request_of(c);
    command_result result = co_await self->with_session(
        [&c, &request](auto& session) { return session.run(std::move(c), std::move(request)); });
    co_return result;
  }

  static awaitable<process> start(std::shared_ptr<sandbox> self, command c) {
    self->require_open();
    std::optional<command_result> refusal = refuse_invalid(c);
    if (refusal) co_return process::finished(std::move(*refusal));
    spawn_request request = co_await self->request_of(c);
    process running = co_await self->with_session(
        [&c, &request](auto& session) { return session.start(std::move(c), std::move(request)); });
    co_return running;
  }

  /// The connection ends, and with it the container.
  void abandon() noexcept {
    closing_ = true;
    abandon_session();
  }

  /// Everything ends, and the container is gone when this is done, unless it is not ours. A second call waits for the first.
  static awaitable<void> close(std::shared_ptr<sandbox> self) {
    if (self->closing_) {
      while (!self->closed_) co_await cofferdam::detail::short_pause(self->api_->executor());
      co_return;
    }
    self->closing_ = true;
    std::exception_ptr failure;
    try {
      if (self->is_adopted()) {
        if (auto* const met = std::get_if<warden_session>(&self->session_)) co_await met->close();
        if (auto* const execs = std::get_if<exec_session>(&self->session_)) co_await execs->close();
      } else {
        // Nothing in it may go on, so nobody is asked to end by himself: the container goes, and all that is in it.
        self->abandon_session();
        co_await self->remove();
      }
      co_await self->api_->close();
    } catch (...) {
      failure = std::current_exception();
    }
    self->closed_ = true;
    if (failure) std::rethrow_exception(failure);
  }

 private:
  static constexpr std::string_view programs_at = "/.cofferdam";
  static constexpr std::string_view warden_at = "/.cofferdam/warden";

  void require_open() const {
    if (closing_ || !has_session())
      throw error(errc::environment_closed, "docker: the environment is closed; open another one");
  }

  awaitable<void> make(host_view host) {
    const owner here = owner::this_process();
    co_await sweep_once(api_, here);
    if (settings_->build) {
      image_ = co_await build_image(api_, *settings_->build, settings_->options, settings_->progress);
    } else {
      image_ = co_await ensure_image(api_, *settings_->name, settings_->options, host, settings_->progress);
    }
    const bool by_warden = takes_warden(image_->architecture);
    const warden_image warden = warden_image_for(image_->architecture);
    const boost::json::object info = co_await api_->get("/info", api_->call("ask the daemon what it can do"));
    name_ = "cofferdam-" + cofferdam::detail::random_digits();
    std::vector<std::string> first{std::string(warden_at), std::string(host_link::socket_at)};
    if (!by_warden) first = {"/bin/sh", "-c", std::string(lease_script)};
    create_request wanted(image_->id, name_, std::move(first), settings_->options);
    wanted.reaps().image_user(image_->user).owned_by(here, host_name());
    if (by_warden) wanted.programs(warden_volume_name(warden), programs_at);
    if (api_->location().transport() == daemon_transport::unix_socket) wanted.daemon_socket(api_->location().path());
    if (const std::optional<std::int64_t> count = number_at(info, "NCPU"))
      wanted.host_cpus(static_cast<unsigned>(std::max<std::int64_t>(*count, 0)));
    const std::string user = wanted.guest_user();
    user_ids ids = co_await ids_of(api_, *image_, user, here);
    // An image may call root by another name. Only who asks for root gets it.
    if (ids.is_root() && settings_->options.user().empty()) ids = user_ids(1000, 1000);
    wanted.guest_ids(ids.uid(), ids.gid());
    if (api_->kind() == engine_kind::podman) wanted.unowned_memory();
    if (!ids.is_root()) wanted.commands(command_user::set_by_first);

    const auto raises = [&](protections& walls) { return raise(wanted, host, here, warden, ids, by_warden, walls); };
    protections walls;
    byte_stream raw;
    std::shared_ptr<host_link> link = by_warden ? link_for(wanted, here) : nullptr;
    if (link) {
      std::optional<error> failure;
      try {
        raw = co_await raises(walls);
      } catch (const error& reason) {
        failure = reason;
      }
      // A daemon elsewhere behind a socket of this machine does not find the folder. It is asked once more, without one.
      const bool is_over =
          failure && (in_doubt_ || failure->code() == errc::cancelled || failure->code() == errc::provider_lost);
      if (is_over) throw *failure;
      if (failure) {
        if (!id_.empty()) co_await remove();
        id_.clear();
        link.reset();
        wanted.no_host_link();
        raw = co_await raises(walls);
        no_link_at(api_->address());
      }
    } else {
      raw = co_await raises(walls);
    }
    variables_ = base_variables(host);
    walls.set(protection::host_death, "everything: the container ends with the connection");
    walls.set(protection::signals, "the processes of the container");
    if (by_warden) {
      co_await meet(std::move(raw), std::move(link), ids, std::move(walls));
    } else {
      do_without(std::move(raw), ids, std::move(walls));
    }
    shell_ = co_await find_shell();
  }

  /// Makes the container and starts it; tells what walls stand, and yields its standard streams.
  awaitable<byte_stream> raise(const create_request& wanted, const host_view& host, const owner& here,
                               const warden_image& warden, user_ids ids, bool by_warden, protections& walls) {
    const boost::json::object body = wanted.body(host);
    // Not cancelled: the daemon would make it all the same, and nobody would know.
    const auto self = shared_from_this();
    const auto creates = [self, &wanted, &body] { return self->create(wanted, body); };
    co_await cofferdam::detail::shielded(std::ref(creates));
    boost::json::object made =
        co_await api_->get("/containers/" + id_ + "/json", api_->call("look at the container", name_));
    const container_check check = check_container(body, made, api_->kind());
    check.require();
    walls = check.walls();
    if (by_warden) co_await ensure_warden(api_, id_, warden, image_->id, here);
    const std::string& workspace = settings_->options.working_directory();
    if (!settings_->options.has_read_only_root() && !settings_->options.has_at(workspace))
      co_await give_workspace(api_, id_, workspace, ids);
    byte_stream raw = co_await attach();
    co_await start_it(by_warden);
    co_return raw;
  }

  /// A way to the warden that does not go through the daemon, where the two may be on one machine; it is then asked for.
  std::shared_ptr<host_link> link_for(create_request& wanted, const owner& here) const {
    if (settings_->by == way::attached || api_->location().transport() != daemon_transport::unix_socket) return nullptr;
    {
      const std::lock_guard lock(mutex_of_links());
      if (places_without_link().contains(api_->address())) return nullptr;
    }
    try {
      std::shared_ptr<host_link> link = host_link::open(api_->executor(), here);
      if (link) wanted.host_link(link->folder(), host_link::folder_at);
      return link;
    } catch (const error&) {  // a folder that may not be mounted
      return nullptr;
    }
  }

  static void no_link_at(const std::string& address) {
    const std::lock_guard lock(mutex_of_links());
    places_without_link().insert(address);
  }
  static std::mutex& mutex_of_links() {
    static std::mutex mutex;
    return mutex;
  }
  static std::set<std::string>& places_without_link() {
    static std::set<std::string> places;
    return places;
  }

  bool takes_warden(std::string_view machine) const {
    if (settings_->by == way::exec) return false;
    const bool there_is_one = !warden_image_for(machine).program().empty();
    if (settings_->by != way::automatic && !there_is_one)
      throw error(errc::unsupported, "docker: the container is for \"" + one_line(machine, 40) +
                                         "\", and there is a warden for amd64 and arm64 only");
    return there_is_one;
  }

  bool has_session() const noexcept { return !std::holds_alternative<std::monostate>(session_); }

  void abandon_session() noexcept {
    if (auto* const met = std::get_if<warden_session>(&session_)) met->abandon();
    if (auto* const execs = std::get_if<exec_session>(&session_)) execs->abandon();
  }

  bool is_adopted() const noexcept { return !settings_->adopted.empty(); }

  /// Takes a container as it is.
  awaitable<void> adopt(host_view host) {
    adopted_container there = co_await look_at(api_, settings_->adopted);
    adopted_ = there.id;
    name_ = there.name;
    boost::json::object said;
    said["Id"] = json_text(there.id);  // shells are looked for in each container anew
    image_.emplace(said);
    image_->variables = there.variables;
    variables_ = base_variables(host);
    if (there.machine.empty()) {
      const boost::json::object info = co_await api_->get("/info", api_->call("ask the daemon what it is"));
      there.machine = std::string(text_at(info, "Architecture"));
    }
    const std::string& wanted = settings_->options.user();
    const std::string& user = wanted.empty() ? there.user : wanted;
    const user_ids ids = co_await ids_in(api_, there.id, user);
    const std::string root = settings_->options.working_directory();
    auto place = std::make_shared<exec_place>(api_, there.id, there.name, wanted);
    co_await ensure_workspace(place, there, root, ids);
    protections walls;  // what else there is, its maker knows
    std::optional<error> reason;
    if (takes_warden(there.machine)) {
      try {
        warden_settings settings = settings_for_warden(root);
        walls.set(protection::process_tree, "everything the command started");
        walls.set(protection::host_death, "everything the commands started");
        settings.commands.walls = std::make_shared<const protections>(walls);
        const warden_image warden = warden_image_for(there.machine);
        warden_session met = co_await bring_warden(place, there, warden, ids, std::move(settings));
        session_.emplace<warden_session>(std::move(met));
      } catch (const error& failure) {
        if (failure.code() != errc::unsupported || settings_->by != way::automatic) throw;
        reason = failure;
      }
    }
    if (!has_session()) {
      walls.set(protection::process_tree, "the command's session, and what has its variables");
      walls.set(protection::host_death, "none");
      command_settings commands = settings_->commands;
      commands.walls = std::make_shared<const protections>(walls);
      session_.emplace<exec_session>(std::move(place), std::move(commands), root, variables_);
    }
    shell_ = co_await find_shell();
  }

  warden_settings settings_for_warden(std::string root) {
    warden_settings settings;
    settings.commands = settings_->commands;
    settings.greeting_timeout = std::chrono::seconds(30);
    settings.heartbeat = std::chrono::milliseconds(500);
    settings.lease = settings_->lease;
    settings.silent = [weak = weak_from_this()] {
      if (const std::shared_ptr<sandbox> self = weak.lock()) self->look_after();
    };
    settings.root = std::move(root);
    return settings;
  }

  awaitable<void> create(const create_request& wanted, const boost::json::object& body) {
    http_request what = api_->request("POST", "/containers/create?" + wanted.query());
    what.content("application/json", boost::json::serialize(body));
    const api_call doing = api_->call("create a container of the image", image_->id);
    in_doubt_ = true;
    http_response answer;
    try {
      answer = co_await api_->ask(std::move(what), doing);
    } catch (const error& reason) {
      in_doubt_ = leaves_in_doubt(reason);
      throw;
    }
    const boost::json::object made = engine::object_of(answer, doing);
    id_ = text_at(made, "Id");
    in_doubt_ = id_.empty();
    if (in_doubt_) throw error(errc::provider_failed, doing.failed() + ": the daemon's answer has no Id");
  }

  awaitable<byte_stream> attach() {
    http_request what = api_->request("POST", "/containers/" + id_ + "/attach?stream=1&stdin=1&stdout=1&stderr=1");
    return api_->upgrade(std::move(what), api_->call("attach to the container", name_));
  }

  awaitable<void> start_it(bool by_warden) {
    http_request what = api_->request("POST", "/containers/" + id_ + "/start");
    const http_limits limits = http_limits().head(std::chrono::minutes(2));
    try {
      co_await api_->ask_within(std::move(what), api_->call("start the container", name_), limits, std::vector<int>());
    } catch (const error& failure) {
      if (by_warden || std::string_view(failure.what()).find("/bin/sh") == std::string_view::npos) throw;
      throw error(errc::unsupported,
                  std::string("docker: without a warden, the image needs a /bin/sh: ") + failure.what(),
                  failure.cause());
    }
  }

  /// Commands are execs; the first program is the lease, and ends them all.
  void do_without(byte_stream raw, user_ids ids, protections walls) {
    walls.set(protection::process_tree,
              "the command's session; a time limit or a cancellation ends everything in the container");
    command_settings commands = settings_->commands;
    commands.walls = std::make_shared<const protections>(std::move(walls));
    const std::string user = std::to_string(ids.uid()) + ":" + std::to_string(ids.gid());
    auto place = std::make_shared<exec_place>(api_, id_, name_, user);
    place->hold(std::move(raw));
    session_.emplace<exec_session>(std::move(place), std::move(commands), settings_->options.working_directory(),
                                   variables_);
  }

  awaitable<void> meet(byte_stream raw, std::shared_ptr<host_link> link, user_ids ids, protections walls) {
    warden_settings settings = settings_for_warden(settings_->options.working_directory());
    if (!ids.is_root()) {
      settings.uid = ids.uid();
      settings.gid = ids.gid();
    }
    walls.set(protection::process_tree, "everything the command started");
    settings.commands.walls = std::make_shared<const protections>(std::move(walls));
    attached_stream stream(std::move(raw), api_->container(name_));
    unique_fd socket;
    if (link) socket = co_await host_link::meet(std::move(link), stream, settings.greeting_timeout);
    if (socket) {
      settings.place = api_->container(name_);
      warden_session met = co_await warden_session::open(api_->executor(), std::move(socket), std::move(settings));
      session_.emplace<warden_session>(std::move(met));
    } else {
      warden_session met = co_await warden_session::open(api_->executor(), std::move(stream), std::move(settings));
      session_.emplace<warden_session>(std::move(met));
    }
  }

  /// What every command finds in its environment: the image's variables, ours where it has none, those of the options.
  std::vector<std::string> base_variables(const host_view& host) const {
    std::vector<std::string> all{"PATH=" + std::string(default_path), "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=/tmp",
                                 "HOME=" + settings_->options.working_directory()};
    const auto set = [&all](const std::string& one) {
      const std::string start = one.substr(0, one.find('=') + 1);
      std::erase_if(all, [&](const std::string& each) { return each.starts_with(start); });
      all.push_back(one);
    };
    for (const std::string& each : image_->variables)
      if (each.find('=') != std::string::npos) set(each);
    for (const std::string& each : settings_->options.environment(host)) set(each);
    return all;
  }

  /// The warden is silent: is the container still there, or has somebody paused it? A machine that is only busy is waited
  /// for.
  void look_after() {
    if (std::exchange(looks_, true)) return;
    const auto self = shared_from_this();
    auto looked = [self](std::exception_ptr) { self->looks_ = false; };
    asio::co_spawn(api_->executor(), look(self), std::move(looked));
  }

  static awaitable<void> look(std::shared_ptr<sandbox> self) {
    boost::json::object seen;
    std::optional<error> failure;
    try {
      seen = co_await self->api_->get("/containers/" + self->id() + "/json",
                                      self->api_->call("look at the container", self->name_));
    } catch (const error& reason) {
      failure = reason;
    }
    auto* const session = std::get_if<warden_session>(&self->session_);
    if (session == nullptr || self->closing_) co_return;
    if (failure) {
      if (failure->code() == errc::provider_lost) session->lose(*failure);
      co_return;
    }
    const boost::json::object* const state = object_at(seen, "State");
    if (state != nullptr && is_true_at(*state, "Paused"))
      session->lose(error(errc::provider_lost,
                          "docker: somebody has paused the container " + self->name_ + "; what ran in it is given up"));
  }

  /// bash where the image has it, else what stands at /bin/sh.
  awaitable<std::string> find_shell() {
    if (!settings_->shell.empty()) co_return settings_->shell;
    static std::mutex mutex;
    static std::map<std::string, std::string> known;  // by image
    {
      const std::lock_guard lock(mutex);
      const auto found = known.find(image_->id);
      if (found != known.end()) co_return found->second;
    }
    command probe = argv("/bin/bash", "-c", ":");
    spawn_request request = request_for(probe, "/bin/bash", variables_);
    request.directory_path = "/";
    command_result result = co_await with_session(
        [&probe, &request](auto& session) { return session.run(std::move(probe), std::move(request)); });
    const std::string shell = result.ok() ? "/bin/bash" : "/bin/sh";
    const std::lock_guard lock(mutex);
    known.insert_or_assign(image_->id, shell);
    co_return shell;
  }

  awaitable<spawn_request> request_of(const command& c) {
    spawn_request request = request_for(c, shell_, variables_);
    request.directory_path =
        co_await with_session([&c](auto& session) { return session.directory_path(c.working_directory()); });
    co_return request;
  }

  /// What `open` leaves behind where it fails: nothing.
  awaitable<void> discard() {
    closing_ = closed_ = true;
    try {
      abandon_session();
      if (!id_.empty() || in_doubt_) co_await remove();
      co_await api_->close();
    } catch (const error&) {  // `open` has a better reason to tell; what is left goes with the next sweep
    }
  }

  awaitable<void> remove() { return remove_container(api_, in_doubt_ ? name_ : id_, name_, in_doubt_); }

  std::shared_ptr<engine> api_;
  std::shared_ptr<const sandbox_settings> settings_;
  std::optional<image> image_;
  std::string name_;
  std::string id_;       // one that is to be removed
  std::string adopted_;  // one that is not
  std::variant<std::monostate, warden_session, exec_session> session_;
  std::vector<std::string> variables_;
  std::string shell_;
  bool in_doubt_ = false;  // whether there is a container, and which, is not known
  bool looks_ = false;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace cofferdam::inline v0::docker::detail
