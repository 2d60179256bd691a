// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/version.hpp>

#include <mutex>
#include <set>
#include <string>

namespace cofferdam::inline COFFERDAM_ABI::docker::detail {

/// The daemons behind a socket of this machine that do not find a folder of this machine, because they run elsewhere.
/// Their containers get no `host_link`. Known for the life of this process.
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
