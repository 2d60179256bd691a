// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/api_version.hpp>
#include <cofferdam/backends/docker/detail/attached_stream.hpp>
#include <cofferdam/backends/docker/detail/base_variables.hpp>
#include <cofferdam/backends/docker/detail/container_check.hpp>
#include <cofferdam/backends/docker/detail/container_plan.hpp>
#include <cofferdam/backends/docker/detail/container_session.hpp>
#include <cofferdam/backends/docker/detail/daemon_location.hpp>
#include <cofferdam/backends/docker/detail/engine.hpp>
#include <cofferdam/backends/docker/detail/exec_place.hpp>
#include <cofferdam/backends/docker/detail/find_shell.hpp>
#include <cofferdam/backends/docker/detail/guest_user.hpp>
#include <cofferdam/backends/docker/detail/host_link.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/image_build.hpp>
#include <cofferdam/backends/docker/detail/image_volumes.hpp>
#include <cofferdam/backends/docker/detail/images.hpp>
#include <cofferdam/backends/docker/detail/leftovers.hpp>
#include <cofferdam/backends/docker/detail/owned_container.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/backends/docker/detail/running_mounts.hpp>
#include <cofferdam/backends/docker/detail/sandbox.hpp>
#include <cofferdam/backends/docker/detail/sandbox_settings.hpp>
#include <cofferdam/backends/docker/detail/snapshot_image.hpp>
#include <cofferdam/backends/docker/detail/unlinked_daemons.hpp>
#include <cofferdam/backends/docker/detail/warden_volume.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/byte_stream.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/os/unique_fd.hpp>
#include <cofferdam/warden/image.hpp>
#include <cofferdam/warden/session.hpp>
#include <cofferdam/warden/tracing_policy.hpp>
#include <cofferdam/warden/warden_settings.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The creation of a container for a sandbox: the plan and the start of the container, and the beginning of its command
/// session (the object that starts and tracks commands). This object exists only while the sandbox is being opened.
class container_creation {
 public:
  /// Creates a container and begins the sandbox's command session in it. After a failure, the caller calls
  /// `sandbox::discard`, which removes the container.
  static awaitable<void> run(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings,
                             host_view host) {
    const owner here = owner::this_process();
    const std::shared_ptr<engine> api = into->api();
    co_await sweep_once(api, here);
    image from = co_await obtain_image(api, settings, host);
    container_plan plan = co_await plan_container(api, settings, std::move(from), host, here);
    container_creation creation(std::move(into), std::move(settings), std::move(host), here, std::move(plan));
    co_await creation.create();
  }

  container_creation(const container_creation&) = delete;
  container_creation& operator=(const container_creation&) = delete;

 private:
  container_creation(std::shared_ptr<sandbox> into, std::shared_ptr<const sandbox_settings> settings, host_view host,
                     owner here, container_plan plan)
      : into_(std::move(into)),
        api_(into_->api()),
        settings_(std::move(settings)),
        host_(std::move(host)),
        here_(std::move(here)),
        plan_(std::move(plan)),
        container_(std::make_shared<owned_container>(api_, plan_.request.name())) {}

  static awaitable<image> obtain_image(std::shared_ptr<engine> api, std::shared_ptr<const sandbox_settings> settings,
                                       host_view host) {
    if (settings->build) {
      image built = co_await build_image(api, *settings->build, settings->options, settings->progress);
      co_return built;
    }
    image found = co_await ensure_image(api, *settings->name, settings->options, host, settings->progress);
    co_return found;
  }

  awaitable<void> create() {
    into_->own(container_);
    byte_stream raw = co_await raise_with_link();
    std::vector<std::string> variables = base_variables(settings_->options, plan_.source.variables, host_);
    isolation_.set(isolation_kind::host_death, "everything: the container ends with the connection");
    isolation_.set(isolation_kind::signals, "the processes of the container");
    if (plan_.has_warden) {
      co_await meet_warden(std::move(raw), std::move(variables));
    } else {
      use_execs(std::move(raw), std::move(variables));
    }
    co_await check_mounts();
    std::string shell = co_await find_shell(into_, settings_, plan_.source.id);
    into_->shell(std::move(shell));
    if (is_workspace_on_disk()) into_->save_as(snapshot_image(plan_.source.user));
  }

  /// Returns true if an image of the container would contain the workspace.
  bool is_workspace_on_disk() const {
    const container_options& options = settings_->options;
    const auto covers = [&options](const auto& entry) {
      return cofferdam::detail::is_beneath(options.working_directory(), entry.target());
    };
    const auto covers_path = [&options](const std::string& target) {
      return cofferdam::detail::is_beneath(options.working_directory(), target);
    };
    return !options.has_read_only_root() && std::none_of(options.mounts().begin(), options.mounts().end(), covers) &&
           std::none_of(options.tmpfs().begin(), options.tmpfs().end(), covers) &&
           std::none_of(plan_.volumes.begin(), plan_.volumes.end(), covers) &&
           std::none_of(options.volumes().begin(), options.volumes().end(), covers_path);
  }

  // ---- the container ----

  /// Creates and starts the container. It gets a host link (a direct socket between the warden and this program) if
  /// that is possible.
  /// \return  the standard streams of the container's first program.
  awaitable<byte_stream> raise_with_link() {
    link_ = open_link();
    std::optional<error> failure;
    try {
      byte_stream raw = co_await raise();
      co_return raw;
    } catch (const error& reason) {
      if (!link_) throw;
      failure = reason;
    }
    const bool is_over = container_->in_doubt() || failure->code() == exec_errc::cancelled ||
                         failure->code() == exec_errc::provider_lost;
    if (is_over) throw *failure;
    // A daemon on another machine does not find the folder of the host link and refuses the request. Therefore the
    // request is repeated without the host link.
    if (container_->may_exist()) co_await container_->remove();
    container_->forget();
    link_.reset();
    plan_.request.no_host_link();
    byte_stream raw = co_await raise();
    unlinked_daemons::add(api_->address());
    co_return raw;
  }

  /// Opens a host link, if the container's warden (the helper program that starts the commands) may run on this
  /// machine, and adds the host link to the request.
  /// \return  null if there can be no host link.
  std::shared_ptr<host_link> open_link() {
    if (!plan_.has_warden || settings_->by == command_transport::attached) return nullptr;
    if (api_->location().transport() != daemon_transport::unix_socket) return nullptr;
    if (unlinked_daemons::contains(api_->address())) return nullptr;
    try {
      std::shared_ptr<host_link> link = host_link::open(api_->executor(), here_);
      if (link) plan_.request.host_link(link->folder(), host_link::folder_at);
      return link;
    } catch (const error&) {  // the temporary folder must not be mounted into containers
      return nullptr;
    }
  }

  /// Creates the container, checks its settings, copies the necessary files into it, and starts it.
  awaitable<byte_stream> raise() {
    asked_ = plan_.request.body(host_);
    std::string query = plan_.request.query();
    std::string body = boost::json::serialize(asked_);
    co_await owned_container::create(container_, std::move(query), std::move(body), plan_.source.id);
    const boost::json::object seen = co_await into_->inspect();
    const container_check check = check_container(asked_, seen, api_->kind());
    check.require();
    isolation_ = check.isolation();
    const std::string& id = container_->id();
    if (plan_.has_warden)
      co_await ensure_warden(api_, id, warden_image_for(plan_.source.architecture), plan_.source.id, here_);
    const std::string& workspace = settings_->options.working_directory();
    if (!settings_->options.has_read_only_root() && !settings_->options.has_at(workspace))
      co_await give_workspace(api_, id, workspace, plan_.guest);
    byte_stream raw = co_await container_->attach();
    co_await start();
    if (api_->kind() != engine_kind::podman) co_await fill_volumes(api_, id, plan_.source.id, plan_.volumes, here_);
    co_return raw;
  }

  awaitable<void> start() {
    try {
      co_await container_->start();
    } catch (const error& failure) {
      if (plan_.has_warden || std::string_view(failure.what()).find("/bin/sh") == std::string_view::npos) throw;
      throw error(exec_errc::unsupported,
                  std::string("docker: without a warden, the image needs a /bin/sh: ") + failure.what(),
                  failure.cause());
    }
  }

  /// Checks the mounts of the running container, as the daemon reports them and as the kernel reports them.
  awaitable<void> check_mounts() {
    const boost::json::object seen = co_await into_->inspect();
    check_container(asked_, seen, api_->kind()).require();
    if (!has_usual_runtime(seen)) co_return;
    std::string table = mount_table_here(*api_, host_, container_->id(), seen);
    if (table.empty() && (plan_.has_warden || !plan_.volumes.empty())) {
      command look = argv("cat", "/proc/self/mountinfo").keep_output(std::size_t{1024} * 1024);
      command_result result = co_await sandbox::probe(into_, std::move(look));
      if (result.ok()) table = result.out().text();  // if the image has no cat, only the daemon's report is checked
    }
    require_mounts(table, asked_, api_->kind());
  }

  // ---- the command session ----

  /// Begins the command session by connecting to the warden, which is the container's first program.
  awaitable<void> meet_warden(byte_stream raw, std::vector<std::string> variables) {
    isolation_.set(isolation_kind::process_tree, "everything the command started");
    warden_settings settings = warden_settings_for(into_, *settings_, std::move(isolation_));
    settings.commands_are_of_another_user = true;  // also root of the container may be another user than this program
    if (!plan_.guest.is_root()) {
      settings.uid = plan_.guest.uid();
      settings.gid = plan_.guest.gid();
      settings.tracing = tracing_policy::allowed;  // safe: no other process runs as the warden's user
    }
    attached_stream stream(std::move(raw), api_->container(container_->name()));
    unique_fd socket;
    if (link_) socket = co_await host_link::meet(std::move(link_), stream, settings.greeting_timeout);
    if (socket) {
      settings.peer_name = api_->container(container_->name());
      warden_session session = co_await warden_session::open(api_->executor(), std::move(socket), std::move(settings));
      begin_session(*into_, std::move(session), std::move(variables));
    } else {
      warden_session session = co_await warden_session::open(api_->executor(), std::move(stream), std::move(settings));
      begin_session(*into_, std::move(session), std::move(variables));
    }
  }

  /// Begins the command session for commands that are Docker execs. The container's first program runs `lease_script`,
  /// which can end all commands.
  void use_execs(byte_stream raw, std::vector<std::string> variables) {
    isolation_.set(isolation_kind::process_tree,
                   "the command's session; a time limit or a cancellation ends everything in the container");
    const std::string user = std::to_string(plan_.guest.uid()) + ":" + std::to_string(plan_.guest.gid());
    auto place = std::make_shared<exec_place>(api_, container_->id(), container_->name(), user);
    place->hold(std::move(raw));
    begin_session(*into_, *settings_, std::move(place), std::move(isolation_), std::move(variables));
  }

  std::shared_ptr<sandbox> into_;
  std::shared_ptr<engine> api_;
  std::shared_ptr<const sandbox_settings> settings_;
  host_view host_;
  owner here_;
  container_plan plan_;
  std::shared_ptr<owned_container> container_;
  boost::json::object asked_;        // the body of the request that created the container
  isolation_report isolation_;       // the isolation that results of commands report
  std::shared_ptr<host_link> link_;  // null if all data passes through the daemon
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
