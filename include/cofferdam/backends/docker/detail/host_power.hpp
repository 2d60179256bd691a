// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/detail/core/path_advice.hpp>
#include <cofferdam/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// Folders and sockets of a machine that give control over it. They belong to the kernel, or contain the sockets or the
/// state of services that run programs as root.
inline constexpr std::array<std::string_view, 54> powerful_places{
    // file systems of the kernel
    "/proc", "/sys", "/dev",
    // sockets of services
    "/run/docker.sock", "/run/docker", "/run/podman", "/run/containerd", "/run/crio", "/run/cri-dockerd.sock",
    "/run/dockershim.sock", "/run/k3s", "/run/k0s", "/run/flannel", "/run/buildkit", "/run/nerdctl", "/run/user",
    "/run/systemd", "/run/dbus", "/run/udev", "/run/libvirt", "/run/lxd", "/run/incus", "/run/snapd.socket",
    "/run/snapd-snap.socket", "/run/machined", "/run/netns", "/run/runc", "/run/balena-engine.sock",
    "/run/balena-engine", "/run/guest-services", "/run/host-services", "/mnt/wsl/docker-desktop",
    // secrets of services
    "/run/secrets", "/run/credentials",
    // state of services, including sockets
    "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/crio", "/var/lib/cri-dockerd",
    "/var/lib/kubelet", "/var/lib/rancher", "/var/lib/k0s", "/var/lib/etcd", "/var/lib/buildkit", "/var/lib/nerdctl",
    "/var/lib/lxd", "/var/lib/incus", "/var/lib/libvirt", "/var/snap/docker", "/var/snap/lxd", "/var/snap/microk8s",
    "/etc/kubernetes",
    // the homes of all users, which contain the paths of the next list
    "/home", "/Users"};

/// Folders in a user's home that contain the sockets or the state of services that run programs as root.
inline constexpr std::array<std::string_view, 12> powerful_places_at_home{"/.docker/run",
                                                                          "/.docker/desktop",
                                                                          "/.docker/machine",
                                                                          "/.colima",
                                                                          "/.orbstack/run",
                                                                          "/.rd",
                                                                          "/.lima",
                                                                          "/.local/share/docker",
                                                                          "/.local/share/containers",
                                                                          "/.local/share/containerd",
                                                                          "/.local/share/rancher",
                                                                          "/.local/share/buildkit"};

/// Names of sockets that give control over the machine, in whatever folder they are.
inline constexpr std::array<std::string_view, 12> powerful_names{
    "docker.sock", "docker.raw.sock", "docker.sock.raw", "docker.proxy.sock", "docker-cli.sock", "balena-engine.sock",
    "podman.sock", "containerd.sock", "crio.sock",       "cri-dockerd.sock",  "buildkitd.sock",  "system_bus_socket"};

/// Returns an absolute path in the spelling of the lists above: without `/private` (macOS), and with `/run` instead of
/// `/var/run`.
inline std::string usual_spelling(std::string_view path) {
  std::string clean(path);
  if (cofferdam::detail::is_beneath(clean, "/private/var") || cofferdam::detail::is_beneath(clean, "/private/etc"))
    clean.erase(0, std::string_view("/private").size());
  if (cofferdam::detail::is_beneath(clean, "/var/run")) clean.erase(0, std::string_view("/var").size());
  return clean;
}

/// Returns true if a container that can access this folder or file of the daemon's machine could control that machine.
/// That is so if the path is in one of the lists above, is beneath a listed path, or contains one.
/// \param path  absolute, without `.`, `..` and double slashes. Empty means `/`.
inline bool gives_power(std::string_view path) {
  using cofferdam::detail::is_beneath;
  const std::string clean = usual_spelling(path);
  if (clean.empty() || clean == "/") return true;
  if (clean == "/var" || clean == "/private")
    return true;  // /var contains /var/run, and /private contains /private/var
  for (const std::string_view place : powerful_places) {
    const bool is_homes =
        place == "/home" || place == "/Users";  // a folder in a user's home is allowed, but not all homes
    if ((!is_homes && is_beneath(clean, place)) || is_beneath(place, clean)) return true;
  }
  // Users' homes may be anywhere on the daemon's machine, so the entries of `powerful_places_at_home` are searched at
  // any position of the path. A path that ends with the first part of an entry, such as `/.docker` of `/.docker/run`,
  // is a folder that contains the entry.
  for (const std::string_view place : powerful_places_at_home) {
    for (std::size_t at = clean.find(place); at != std::string::npos; at = clean.find(place, at + 1))
      if (is_beneath(std::string_view(clean).substr(at), place)) return true;
    for (std::size_t slash = place.find('/', 1); slash != std::string_view::npos; slash = place.find('/', slash + 1))
      if (clean.ends_with(place.substr(0, slash))) return true;
  }
  const std::string_view name = std::string_view(clean).substr(clean.rfind('/') + 1);
  return std::find(powerful_names.begin(), powerful_names.end(), name) != powerful_names.end();
}

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
