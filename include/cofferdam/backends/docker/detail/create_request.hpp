// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/host_view.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/detail/owner.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/version.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The way in which the user of a container's commands is set.
enum class command_user {
  as_container,  ///< all programs, including the first one, run as the commands' user
  /// The first program runs as root, with no capabilities except SETUID, SETGID and KILL. It switches to the commands'
  /// user for each command, so that no command can kill the first program or read its memory.
  set_by_first,
};

/// An in-memory file system that replaces a VOLUME of an image. It has the mode and the owner of the VOLUME's folder in
/// the image.
class image_volume {
 public:
  /// Makes the description of the file system.
  /// \param target       absolute path in the container.
  /// \param bytes        maximum size in bytes.
  /// \param has_content  true if the VOLUME's folder in the image contains files. The daemon then mounts the memory as
  ///                     a volume, and the library copies the files into that volume.
  image_volume(std::string target, std::uint64_t bytes, unsigned mode, std::uint32_t uid, std::uint32_t gid,
               bool has_content)
      : target_(std::move(target)), bytes_(bytes), mode_(mode), uid_(uid), gid_(gid), has_content_(has_content) {}

  const std::string& target() const noexcept { return target_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  unsigned mode() const noexcept { return mode_; }
  std::uint32_t uid() const noexcept { return uid_; }
  std::uint32_t gid() const noexcept { return gid_; }
  bool has_content() const noexcept { return has_content_; }

 private:
  std::string target_;
  std::uint64_t bytes_;
  unsigned mode_;
  std::uint32_t uid_;
  std::uint32_t gid_;
  bool has_content_;
};

/// A builder of the request `POST /containers/create`. With any options, the container has no capabilities (but see
/// `command_user`), no new privileges, no swap, limits on memory, CPUs and processes, no core files, no log on the
/// daemon's disk, no health check, no devices, and no namespace of the host. A value; it sends nothing.
/// \par Source  Engine API 1.41, "Create a container"; each field was tried on a daemon.
class create_request {
 public:
  /// Begins a request.
  /// \param image    the name or id of an image that the daemon has.
  /// \param name     the name of the new container: at least two letters, digits, `_`, `.` and `-`. It must be unique
  ///                 in the daemon.
  /// \param entry    the first program and its arguments. Required; the image's own entry point is not started.
  /// \throws         error{exec_errc::invalid_argument} for a malformed argument.
  create_request(std::string image, std::string name, std::vector<std::string> entry, container_options options)
      : image_(std::move(image)), name_(std::move(name)), entry_(std::move(entry)), options_(std::move(options)) {
    detail::require_text(image_, "the name of the image");
    if (image_.empty()) throw detail::bad_option("the name of the image is empty");
    if (!detail::is_engine_name(name_) || name_.size() < 2)
      throw detail::bad_option("invalid name of a container: " + detail::quoted(name_));
    if (entry_.empty() || entry_.front().empty()) throw detail::bad_option("the container's first program is empty");
    for (const std::string& word : entry_) detail::require_text(word, "the container's first command");
  }

  /// Declares that the first program reaps orphaned processes, as a warden (the library's helper program) does.
  /// Otherwise the daemon adds an init program.
  create_request& reaps() & {
    reaps_ = true;
    return *this;
  }
  /// Selects how the commands' user is set. Default: `command_user::as_container`.
  create_request& commands(command_user who) & {
    command_user_ = who;
    return *this;
  }
  /// Sets the user that the image is configured with.
  /// \param name  `Config.User` of the image; may be empty.
  create_request& image_user(std::string_view name) & {
    image_user_ = std::string(name);
    return *this;
  }
  /// Sets the ids of the owner of the folder that is mounted as the workspace. Must not be root.
  create_request& workspace_owner(std::uint32_t uid, std::uint32_t gid) & {
    workspace_owner_ = std::to_string(uid) + ":" + std::to_string(gid);
    return *this;
  }
  /// Sets the numeric ids of the commands' user, which also become the owner of in-memory file systems. If these ids
  /// are not set and the user is given by name, all users in the container may write to these file systems.
  create_request& guest_ids(std::uint32_t uid, std::uint32_t gid) & {
    guest_ids_.emplace(uid, gid);
    return *this;
  }
  /// Declares that the daemon cannot set an owner of in-memory file systems (Podman). All users in the container may
  /// then write to them.
  create_request& unowned_memory() & {
    unowned_memory_ = true;
    return *this;
  }
  /// Mounts a volume that contains the warden program, read-only. No mount of the options may be at `target`, above it
  /// or beneath it.
  create_request& programs(std::string volume, std::string_view target) & {
    programs_.emplace(mount::volume(volume, target).read_only());
    return *this;
  }
  /// Mounts a folder of the host, read-only. The folder contains only the socket to which the warden connects; see
  /// `host_link` in host_link.hpp.
  create_request& host_link(std::string folder, std::string_view target) & {
    host_link_.emplace(mount::bind(std::move(folder), target).read_only());
    return *this;
  }
  /// Removes the mount that `host_link` has added.
  create_request& no_host_link() & {
    host_link_.reset();
    return *this;
  }
  /// Adds an in-memory file system that replaces a VOLUME of the image. Otherwise the daemon would mount a folder on
  /// its disk.
  create_request& add(image_volume volume) & {
    image_volumes_.push_back(std::move(volume));
    return *this;
  }
  /// Sets the labels that identify this process as the owner of the container.
  create_request& owned_by(owner who, std::string host_name) & {
    owner_ = std::move(who);
    host_name_ = std::move(host_name);
    return *this;
  }
  /// Sets the time after which any process of this library, on any host, may remove the container. It is stored in a
  /// label.
  create_request& deadline(std::chrono::system_clock::time_point when) & {
    deadline_ = when;
    return *this;
  }
  /// Sets the number of CPUs of the daemon's machine (NCPU of `/info`). The CPU limit is lowered to this number,
  /// because the daemon refuses a higher limit.
  create_request& host_cpus(unsigned count) & {
    host_cpus_ = count;
    return *this;
  }
  /// Sets the path of the daemon's own socket. A mount that would make this socket accessible in the container is
  /// refused.
  create_request& daemon_socket(std::string path) & {
    daemon_socket_ = std::move(path);
    return *this;
  }

  /// Declares that the daemon runs on this machine. The sources of mounts are then checked on this machine, with
  /// symbolic links resolved.
  create_request& local_daemon() & {
    is_local_ = true;
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const container_options& options() const noexcept { return options_; }

  /// Returns the user of the commands: the user of the options if it is set; otherwise the owner of the folder that is
  /// mounted as the workspace; otherwise the image's user if it is not root; otherwise 1000:1000.
  std::string guest_user() const {
    if (!options_.user().empty()) return options_.user();
    if (!workspace_owner_.empty()) return workspace_owner_;
    return is_root(image_user_) ? "1000:1000" : image_user_;
  }

  /// Returns the query parameters of the request, percent-encoded, without the `?`.
  std::string query() const {
    std::string text =
        "name=" + name_;  // the name and the platform contain no characters that need encoding, except slashes
    if (!options_.platform().empty()) {
      text += "&platform=";
      for (const char c : options_.platform()) text += c == '/' ? std::string("%2F") : std::string(1, c);
    }
    return text;
  }

  /// Returns the JSON body of the request.
  /// \param host     supplies the values of the environment variables that `container_options::forward_variable` names.
  /// \param missing  receives the names of those of these variables that are not set in `host`; may be null.
  /// \throws         error{exec_errc::invalid_argument} if the options contradict each other or contain a forbidden
  ///                 mount.
  boost::json::object body(const host_view& host, std::vector<std::string>* missing = nullptr) const {
    check_combinations();
    check_mounts(host);
    boost::json::object body;
    body["Image"] = detail::json_text(image_);
    body["Entrypoint"] = texts(entry_);
    body["Cmd"] = boost::json::array();
    body["User"] = detail::json_text(command_user_ == command_user::set_by_first ? "0:0" : guest_user());
    body["WorkingDir"] = detail::json_text(options_.working_directory());
    body["Hostname"] = "sandbox";
    // Each command gets the variables from the session. In the container's configuration, a snapshot would save their
    // values, which may be secret.
    const std::vector<std::string> variables = options_.environment(host, missing);
    body["Env"] = options_.has_read_only_root() ? texts(variables) : boost::json::array();
    for (const char* const yes : {"OpenStdin", "StdinOnce", "AttachStdin", "AttachStdout", "AttachStderr"})
      body[yes] = true;
    body["Tty"] = false;
    boost::json::object no_check;
    no_check["Test"] = texts({"NONE"});
    body["Healthcheck"] = std::move(no_check);
    body["StopTimeout"] = 1;
    body["Labels"] = labels();
    body["HostConfig"] = host_config();
    return body;
  }

 private:
  static bool is_root(std::string_view user) {
    std::string_view name = user.substr(0, user.find(':'));
    if (name.starts_with('+') || name.starts_with('-'))
      name.remove_prefix(1);  // the runtime accepts a sign, so "+0" means root too
    return name.empty() || name == "root" || name.find_first_not_of('0') == std::string_view::npos;
  }

  static boost::json::array texts(const std::vector<std::string>& strings) {
    boost::json::array array;
    for (const std::string& text : strings) array.push_back(detail::json_text(text));
    return array;
  }

  void check_combinations() const {
    if (!options_.dns().empty() && options_.network() == "none")
      throw detail::bad_option("dns has no effect without a network: add network(\"bridge\"), or leave out dns");
    if (options_.has_at("/dev/shm") && options_.has_shm_size())
      throw detail::bad_option("shm_size and a mount at /dev/shm exclude each other: set the size of the mount");
  }

  void check_mounts(const host_view& host) const {
    const auto meets = [](std::string_view a, std::string_view b) {
      return cofferdam::detail::is_beneath(a, b) || cofferdam::detail::is_beneath(b, a);
    };
    for (const mount& entry : options_.mounts()) {
      if (entry.is_bind()) check_source(entry, host);
      check_programs(entry.target(), meets);
    }
    for (const tmpfs_mount& entry : options_.tmpfs()) check_programs(entry.target(), meets);
    for (const std::string& target : options_.volumes()) check_programs(target, meets);
    for (const image_volume& volume : image_volumes_) check_programs(volume.target(), meets);
    check_programs(options_.working_directory(), meets);
  }

  void check_source(const mount& entry, const host_view& host) const {
    const std::string real = is_local_ ? host.real(entry.source()) : entry.source();
    const std::string place =
        "the mount of " + detail::quoted(entry.source()) +
        (real == entry.source() ? std::string() : ", which resolves to " + detail::quoted(real) + ",");
    if (!daemon_socket_.empty()) {
      const std::string socket = detail::usual_spelling(is_local_ ? host.real(daemon_socket_) : daemon_socket_);
      for (const std::string& source : {detail::usual_spelling(entry.source()), detail::usual_spelling(real)})
        if (cofferdam::detail::is_beneath(socket, source) || daemon_socket_ == source)
          throw detail::bad_option(place + " would give the container access to the daemon's socket");
    }
    if (detail::gives_power(real))
      throw detail::bad_option(place +
                               " would give the container control of the daemon's machine; mount another directory");
    if (!is_local_) return;
    for (const std::string_view at_home : detail::powerful_places_at_home)
      if (host.look(real + std::string(at_home)) != path_kind::nothing)
        throw detail::bad_option(place + " contains " + detail::quoted(at_home.substr(1)) +
                                 ", which gives control of the daemon's machine; mount a directory below it");
  }

  template <class Meets>
  void check_programs(const std::string& target, Meets meets) const {
    if (programs_ && meets(target, programs_->target()))
      throw detail::bad_option("a mount cannot be at " + detail::quoted(target) +
                               ": the library's own programs are at " + detail::quoted(programs_->target()));
    if (host_link_ && meets(target, host_link_->target()))
      throw detail::bad_option("a mount cannot be at " + detail::quoted(target) + ": the library's own socket is at " +
                               detail::quoted(host_link_->target()));
  }

  boost::json::object labels() const {
    boost::json::object labels;
    for (const auto& [key, value] : options_.labels()) labels[detail::json_view(key)] = detail::json_text(value);
    // These labels are set last, so that no other label can replace them. They are set even if they are empty, because
    // otherwise the labels of the image would apply.
    labels[detail::json_view(owner_label_key)] = detail::json_text(owner_ ? owner_label(*owner_, name_).text() : "");
    labels["cofferdam.host"] =
        detail::json_text(cofferdam::detail::is_valid_utf8(host_name_) ? host_name_ : std::string());
    labels["cofferdam.version"] = detail::json_text(version);
    std::string when;
    if (deadline_)
      when = std::to_string(std::chrono::duration_cast<std::chrono::seconds>(deadline_->time_since_epoch()).count());
    labels["cofferdam.deadline"] = detail::json_text(when);
    return labels;
  }

  boost::json::object host_config() const {
    boost::json::object host;
    host["AutoRemove"] = true;
    host["Privileged"] = false;
    host["PublishAllPorts"] = false;
    host["NetworkMode"] = detail::json_text(options_.network());
    host["IpcMode"] = "private";
    boost::json::object log;
    log["Type"] = "none";
    host["LogConfig"] = std::move(log);
    host["CapDrop"] = texts({"ALL"});
    if (command_user_ == command_user::set_by_first) host["CapAdd"] = texts({"KILL", "SETGID", "SETUID"});
    host["SecurityOpt"] = texts({"no-new-privileges"});
    host["ReadonlyRootfs"] = options_.has_read_only_root();
    host["Init"] = !reaps_;
    host["Memory"] = static_cast<std::int64_t>(options_.memory());
    host["MemorySwap"] = static_cast<std::int64_t>(options_.memory());
    host["PidsLimit"] = static_cast<std::int64_t>(options_.pids());
    host["NanoCpus"] = nano_cpus();
    boost::json::object no_core;
    no_core["Name"] = "core";
    no_core["Soft"] = 0;
    no_core["Hard"] = 0;
    boost::json::array limits;
    limits.push_back(std::move(no_core));
    host["Ulimits"] = std::move(limits);
    host["OomScoreAdj"] = 500;
    // With the default sizes, /dev/shm, the workspace and /tmp together are smaller than the memory limit (at most an
    // eighth, a half and a quarter of it). Otherwise a command that fills them could use up all memory, and everything
    // in the container would be killed.
    host["ShmSize"] = static_cast<std::int64_t>(options_.shm_size());
    if (!options_.dns().empty()) host["Dns"] = texts(options_.dns());
    if (!options_.extra_hosts().empty()) host["ExtraHosts"] = texts(options_.extra_hosts());
    if (options_.gpus()) host["DeviceRequests"] = device_requests(*options_.gpus());
    if (!options_.runtime().empty()) host["Runtime"] = detail::json_text(options_.runtime());
    host["Tmpfs"] = tmpfs();
    boost::json::array mounts;
    for (const mount& entry : options_.mounts()) mounts.push_back(mount_object(entry));
    for (const std::string& target : options_.volumes()) mounts.push_back(disk_object(target));
    for (const image_volume& volume : image_volumes_)
      if (is_daemons(volume)) mounts.push_back(memory_object(volume));
    if (programs_) mounts.push_back(mount_object(*programs_));
    if (host_link_) mounts.push_back(mount_object(*host_link_));
    host["Mounts"] = std::move(mounts);
    return host;
  }

  // Returns the request for GPUs that `docker run --gpus` sends.
  static boost::json::array device_requests(const gpu_choice& gpus) {
    boost::json::array capabilities;
    capabilities.push_back(texts({"gpu"}));
    boost::json::object request;
    request["Driver"] = "";
    request["Count"] = gpus.count();
    request["DeviceIDs"] = texts(gpus.devices());
    request["Capabilities"] = std::move(capabilities);
    request["Options"] = boost::json::object();
    boost::json::array requests;
    requests.push_back(std::move(request));
    return requests;
  }

  std::int64_t nano_cpus() const {
    double count = options_.cpus();
    if (host_cpus_ > 0) count = std::min(count, static_cast<double>(host_cpus_));
    return static_cast<std::int64_t>(std::llround(count * 1e9));
  }

  boost::json::object tmpfs() const {
    boost::json::object entries;
    const auto add = [&entries, this](const tmpfs_mount& entry, const std::string& owner) {
      const std::uint64_t bytes = entry.bytes() != 0 ? entry.bytes() : options_.volume_size();
      entries[detail::json_view(entry.target())] =
          detail::json_text("rw,nosuid,nodev," + std::string(entry.is_executable() ? "exec" : "noexec") +
                            ",size=" + std::to_string(bytes) + owner);
    };
    for (const image_volume& volume : image_volumes_) {
      if (is_daemons(volume)) continue;
      // With Podman, the mode of the VOLUME's folder in the image is unknown: Podman's archive calls (which read files
      // as tar archives) show an empty volume that Podman has mounted at this path.
      std::string owner = ",mode=1777";
      if (!unowned_memory_)
        owner = ",mode=" + octal(volume.mode()) + ",uid=" + std::to_string(volume.uid()) +
                ",gid=" + std::to_string(volume.gid());
      add(tmpfs_mount(volume.target(), volume.bytes()).executable(), owner);
    }
    const std::string owned = guest_ids();
    for (const tmpfs_mount& entry : options_.tmpfs()) add(entry, owned);
    if (!options_.has_read_only_root()) return entries;
    const std::uint64_t size = options_.workspace_size();
    if (!options_.has_at(options_.working_directory()))
      add(tmpfs_mount(options_.working_directory(), size).executable(), owned);
    if (!options_.has_at("/tmp") && options_.working_directory() != "/tmp")
      add(tmpfs_mount("/tmp", std::max<std::uint64_t>(size / 2, 4096)).executable(), ",mode=1777");
    return entries;
  }

  // Returns the options of a tmpfs that make the commands' user its owner. If the user is given by name, only the
  // daemon knows the numeric id, so all users may write to the tmpfs.
  std::string guest_ids() const {
    if (unowned_memory_) return ",mode=1777";
    if (guest_ids_)
      return ",mode=0755,uid=" + std::to_string(guest_ids_->first) + ",gid=" + std::to_string(guest_ids_->second);
    const std::string user = guest_user();
    const std::string_view text(user);
    const std::string_view uid = text.substr(0, text.find(':'));
    const std::string_view gid = uid.size() == text.size() ? std::string_view("0") : text.substr(uid.size() + 1);
    const auto is_number = [](std::string_view digits) {
      return !digits.empty() && digits.size() <= 10 && digits.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (!is_number(uid) || !is_number(gid)) return ",mode=1777";
    return ",mode=0755,uid=" + std::string(uid) + ",gid=" + std::string(gid);
  }

  // Returns true if the daemon must mount the memory as a volume, so that the image's content of the VOLUME can be
  // copied into it. Podman needs no volume: it copies the content into a tmpfs by itself, and keeps the owner.
  bool is_daemons(const image_volume& volume) const { return volume.has_content() && !unowned_memory_; }

  static std::string octal(unsigned mode) {
    std::string digits = "0000";
    for (std::size_t i = 4; i-- > 0; mode /= 8) digits[i] = static_cast<char>('0' + mode % 8);
    return digits;
  }

  // Returns the description of a volume in memory. It is a volume, not a tmpfs, because the daemon's archive calls,
  // which copy the image's content, can access a volume but not a tmpfs. The volume has no name, so that it is removed
  // with its container.
  static boost::json::object memory_object(const image_volume& declared) {
    boost::json::object how;
    how["type"] = "tmpfs";
    how["device"] = "tmpfs";
    how["o"] =
        detail::json_text("nosuid,nodev,size=" + std::to_string(declared.bytes()) + ",mode=" + octal(declared.mode()) +
                          ",uid=" + std::to_string(declared.uid()) + ",gid=" + std::to_string(declared.gid()));
    boost::json::object driver;
    driver["Name"] = "local";
    driver["Options"] = std::move(how);
    boost::json::object volume;
    volume["NoCopy"] = true;  // a copy that the daemon makes before the start would be lost at the start
    volume["DriverConfig"] = std::move(driver);
    return unnamed_volume(declared.target(), std::move(volume));
  }

  // Returns a volume on the daemon's disk, with the image's content of that path.
  static boost::json::object disk_object(const std::string& target) {
    boost::json::object volume;
    volume["NoCopy"] = false;
    return unnamed_volume(target, std::move(volume));
  }

  static boost::json::object unnamed_volume(const std::string& target, boost::json::object how) {
    boost::json::object object;
    object["Type"] = "volume";
    object["Target"] = detail::json_text(target);
    object["ReadOnly"] = false;
    object["VolumeOptions"] = std::move(how);
    return object;
  }

  static boost::json::object mount_object(const mount& entry) {
    boost::json::object object;
    object["Type"] = entry.is_bind() ? "bind" : "volume";
    object["Source"] = detail::json_text(entry.source());
    object["Target"] = detail::json_text(entry.target());
    object["ReadOnly"] = entry.is_read_only();
    if (!entry.is_bind()) {
      boost::json::object volume;
      volume["NoCopy"] = true;  // otherwise the image's content would be copied into it
      object["VolumeOptions"] = std::move(volume);
    }
    return object;
  }

  std::string image_;
  std::string name_;
  std::vector<std::string> entry_;
  container_options options_;
  bool reaps_ = false;
  command_user command_user_ = command_user::as_container;
  std::string image_user_;
  std::string workspace_owner_;
  std::optional<std::pair<std::uint32_t, std::uint32_t>> guest_ids_;
  bool unowned_memory_ = false;
  std::vector<image_volume> image_volumes_;
  std::optional<mount> programs_;
  std::optional<mount> host_link_;
  std::optional<owner> owner_;
  std::string host_name_;
  std::optional<std::chrono::system_clock::time_point> deadline_;
  unsigned host_cpus_ = 0;
  std::string daemon_socket_;
  bool is_local_ = false;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
