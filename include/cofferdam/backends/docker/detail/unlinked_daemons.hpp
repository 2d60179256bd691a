// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <mutex>
#include <set>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The addresses of daemons that cannot mount a folder of this machine although they are reached by a socket of this
/// machine, because they run on another machine. Containers of these daemons get no `host_link` (a direct socket
/// between the warden in a container and this program). The list is kept until this process ends.
class unlinked_daemons {
 public:
  static bool contains(const std::string& address) {
    const std::lock_guard lock(mutex());
    return addresses().contains(address);
  }

  static void add(const std::string& address) {
    const std::lock_guard lock(mutex());
    addresses().insert(address);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::set<std::string>& addresses() {
    static std::set<std::string> addresses;
    return addresses;
  }
};

}  // namespace cofferdam::inline COFFERDAM_ABI::docker::detail
