// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/docker/container_options.hpp>
#include <cofferdam/backends/docker/detail/json.hpp>
#include <cofferdam/backends/docker/host_view.hpp>
#include <cofferdam/backends/docker/owner.hpp>
#include <cofferdam/core/error.hpp>
#include <cofferdam/core/path_advice.hpp>
#include <cofferdam/version.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline v0::docker {

/// Who the first program of a container is, and who the commands are.
enum class command_user {
  as_container,  ///< all are the container's user
  set_by_first,  ///< the first program is root without capabilities but SETUID, SETGID and KILL, and becomes the
                 ///< commands' user for each of them: so no command can kill it, or read its memory
};

/// The body of `POST /containers/create`, hardened: whatever the options say, there are no capabilities (see
/// `command_user`), no new privileges, no swap, limits on memory, CPUs and processes, no core files, no log on the
/// daemon's disk, no health check, no devices and no namespace of the host's. Nothing runs it: it is a value.
///
/// \par Source  Engine API 1.41, "Create a container"; each field was tried on a daemon.
class create_request {
 public:
  /// \param image    a name or an id that the daemon has.
  /// \param name     of the container: letters, digits, `_`, `.`, `-`; in use by no other.
  /// \param entry    the first program and its arguments. Always given: what the image would start is not started.
  /// \throws         error{errc::invalid_argument}.
  create_request(std::string image, std::string name, std::vector<std::string> entry, container_options options)
      : image_(std::move(image)), name_(std::move(name)), entry_(std::move(entry)), options_(std::move(options)) {
    detail::require_text(image_, "the name of the image");
    if (image_.empty()) throw detail::bad_option("the image has no name");
    if (!detail::is_engine_name(name_) || name_.size() < 2)
      throw detail::bad_option("a container cannot be called " + detail::quoted(name_));
    if (entry_.empty() || entry_.front().empty()) throw detail::bad_option("a container needs a first program");
    for (const std::string& word : entry_) detail::require_text(word, "the container's first command");
  }

  /// The first program waits for its children, like a warden: the daemon then adds no init of its own.
  create_request& reaps() & {
    reaps_ = true;
    return *this;
  }
  create_request& commands(command_user who) & {
    command_user_ = who;
    return *this;
  }
  /// \param name  `Config.User` of the image, as inspected; may be empty.
  create_request& image_user(std::string_view name) & {
    image_user_ = std::string(name);
    return *this;
  }
  /// Who the commands are, in numbers: for the memory that is mounted for them. Without this a user by name gets memory
  /// that everybody may write.
  create_request& guest_ids(std::uint32_t uid, std::uint32_t gid) & {
    guest_ids_.emplace(uid, gid);
    return *this;
  }
  /// The daemon's memory mounts have no owner (Podman's): what is mounted for the commands everybody there may write.
  create_request& unowned_memory() & {
    unowned_memory_ = true;
    return *this;
  }
  /// A volume with the library's own programs, read-only. No mount of the options may be at, above or beneath it.
  create_request& programs(std::string volume, std::string_view target) & {
    programs_.emplace(mount::volume(volume, target).read_only());
    return *this;
  }
  /// A folder of the host's with nothing in it but the socket that the first program connects to, read-only.
  create_request& host_link(std::string folder, std::string_view target) & {
    host_link_.emplace(mount::bind(std::move(folder), target).read_only());
    return *this;
  }
  create_request& no_host_link() & {
    host_link_.reset();
    return *this;
  }
  create_request& owned_by(owner who, std::string host_name) & {
    owner_ = std::move(who);
    host_name_ = std::move(host_name);
    return *this;
  }
  /// When anybody may sweep it away, whoever made it.
  create_request& deadline(std::chrono::system_clock::time_point when) & {
    deadline_ = when;
    return *this;
  }
  /// How many CPUs the daemon has (`/info`, NCPU): it refuses to give more.
  create_request& host_cpus(unsigned count) & {
    host_cpus_ = count;
    return *this;
  }
  /// The socket of the daemon itself, where it has one: no mount may bring it into the container.
  create_request& daemon_socket(std::string path) & {
    daemon_socket_ = std::move(path);
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const container_options& options() const noexcept { return options_; }

  /// Who the commands are: what the options say; else the image's user, where that is not root; else 1000:1000.
  std::string guest_user() const {
    if (!options_.user().empty()) return options_.user();
    return is_root(image_user_) ? "1000:1000" : image_user_;
  }

  /// The parameters of the request, percent-encoded, without `?`.
  std::string query() const {
    std::string text = "name=" + name_;  // nothing in either that would have to be encoded, but slashes
    if (!options_.platform().empty()) {
      text += "&platform=";
      for (const char c : options_.platform()) text += c == '/' ? std::string("%2F") : std::string(1, c);
    }
    return text;
  }

  /// The body.
  /// \param host     where forwarded variables come from.
  /// \param missing  takes the names of those that are not set.
  /// \throws         error{errc::invalid_argument} for options that do not go together.
  boost::json::object body(const host_view& host, std::vector<std::string>* missing = nullptr) const {
    check_mounts();
    boost::json::object body;
    body["Image"] = detail::json_text(image_);
    body["Entrypoint"] = texts(entry_);
    body["Cmd"] = boost::json::array();
    body["User"] = detail::json_text(command_user_ == command_user::set_by_first ? "0:0" : guest_user());
    body["WorkingDir"] = detail::json_text(options_.working_directory());
    body["Hostname"] = "sandbox";
    body["Env"] = texts(options_.environment(host, missing));
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
    if (name.starts_with('+') || name.starts_with('-')) name.remove_prefix(1);  // the runtime reads "+0" as a number
    return name.empty() || name == "root" || name.find_first_not_of('0') == std::string_view::npos;
  }

  static boost::json::array texts(const std::vector<std::string>& all) {
    boost::json::array array;
    for (const std::string& one : all) array.push_back(detail::json_text(one));
    return array;
  }

  void check_mounts() const {
    const auto meets = [](std::string_view a, std::string_view b) {
      return cofferdam::detail::is_beneath(a, b) || cofferdam::detail::is_beneath(b, a);
    };
    for (const mount& one : options_.mounts()) {
      if (one.is_bind() && !daemon_socket_.empty() && cofferdam::detail::is_beneath(daemon_socket_, one.source()))
        throw detail::bad_option("the mount of " + detail::quoted(one.source()) +
                                 " would bring the daemon's own socket into the container");
      check_programs(one.target(), meets);
    }
    for (const tmpfs_mount& one : options_.tmpfs()) check_programs(one.target(), meets);
    check_programs(options_.working_directory(), meets);
  }

  template <class Meets>
  void check_programs(const std::string& target, Meets meets) const {
    if (programs_ && meets(target, programs_->target()))
      throw detail::bad_option("nothing can be at " + detail::quoted(target) + ": the library's own programs are at " +
                               detail::quoted(programs_->target()));
    if (host_link_ && meets(target, host_link_->target()))
      throw detail::bad_option("nothing can be at " + detail::quoted(target) + ": the library's own socket is at " +
                               detail::quoted(host_link_->target()));
  }

  boost::json::object labels() const {
    boost::json::object labels;
    for (const auto& [key, value] : options_.labels()) labels[detail::json_key(key)] = detail::json_text(value);
    // Last, so that nothing can stand in for them; and always, since those of the image would shine through.
    labels[detail::json_key(owner_label_key)] = detail::json_text(owner_ ? owner_label(*owner_, name_).text() : "");
    labels["cofferdam.host"] = detail::json_text(is_valid_utf8(host_name_) ? host_name_ : std::string());
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
    // With the workspace's half and the quarter of /tmp: not all of the memory, or a guest that fills them ends it all.
    host["ShmSize"] = std::min<std::int64_t>(64 * 1024 * 1024, static_cast<std::int64_t>(options_.memory() / 8));
    if (!options_.runtime().empty()) host["Runtime"] = detail::json_text(options_.runtime());
    host["Tmpfs"] = tmpfs();
    boost::json::array mounts;
    for (const mount& one : options_.mounts()) mounts.push_back(mount_object(one));
    if (programs_) mounts.push_back(mount_object(*programs_));
    if (host_link_) mounts.push_back(mount_object(*host_link_));
    host["Mounts"] = std::move(mounts);
    return host;
  }

  std::int64_t nano_cpus() const {
    double count = options_.cpus();
    if (host_cpus_ > 0) count = std::min(count, static_cast<double>(host_cpus_));
    return static_cast<std::int64_t>(std::llround(count * 1e9));
  }

  boost::json::object tmpfs() const {
    boost::json::object all;
    const auto add = [&all](const tmpfs_mount& one, const std::string& owner) {
      all[detail::json_key(one.target())] =
          detail::json_text("rw,nosuid,nodev," + std::string(one.is_executable() ? "exec" : "noexec") +
                            ",size=" + std::to_string(one.bytes()) + owner);
    };
    const std::string owned = guest_ids();
    for (const tmpfs_mount& one : options_.tmpfs()) add(one, owned);
    if (!options_.has_read_only_root()) return all;
    const std::uint64_t size = options_.workspace_size();
    if (!options_.has_at(options_.working_directory()))
      add(tmpfs_mount(options_.working_directory(), size).executable(), owned);
    if (!options_.has_at("/tmp") && options_.working_directory() != "/tmp")
      add(tmpfs_mount("/tmp", std::max<std::uint64_t>(size / 2, 4096)).executable(), ",mode=1777");
    return all;
  }

  // The options of a tmpfs that make it the commands' own. For a user by name only the daemon knows the number.
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

  static boost::json::object mount_object(const mount& one) {
    boost::json::object object;
    object["Type"] = one.is_bind() ? "bind" : "volume";
    object["Source"] = detail::json_text(one.source());
    object["Target"] = detail::json_text(one.target());
    object["ReadOnly"] = one.is_read_only();
    if (!one.is_bind()) {
      boost::json::object volume;
      volume["NoCopy"] = true;  // what the image has there would be copied into it
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
  std::optional<std::pair<std::uint32_t, std::uint32_t>> guest_ids_;
  bool unowned_memory_ = false;
  std::optional<mount> programs_;
  std::optional<mount> host_link_;
  std::optional<owner> owner_;
  std::string host_name_;
  std::optional<std::chrono::system_clock::time_point> deadline_;
  unsigned host_cpus_ = 0;
  std::string daemon_socket_;
};

}  // namespace cofferdam::inline v0::docker
