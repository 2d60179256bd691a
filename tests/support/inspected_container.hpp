// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace cofferdam_test {

/// Returns the description of a container ("docker inspect") by a daemon that has applied all requested settings.
/// `asked` is the request that created the container. The result has only the fields that the library checks.
inline boost::json::object inspected_as_asked(const boost::json::object& asked) {
  boost::json::object answer;
  boost::json::object config;
  for (const char* const key : {"User", "Env", "Entrypoint", "WorkingDir", "Labels", "Tty"})
    config[key] = asked.at(key);
  answer["Config"] = config;
  const boost::json::object& host = asked.at("HostConfig").as_object();
  answer["HostConfig"] = host;
  boost::json::object& given = answer["HostConfig"].as_object();
  given["PidMode"] = "";
  given["UTSMode"] = "";
  given["UsernsMode"] = "";
  given["Devices"] = nullptr;
  boost::json::array mounts;
  for (const boost::json::value& item : host.at("Mounts").as_array()) {
    const boost::json::object& want = item.as_object();
    boost::json::object have;
    have["Type"] = want.at("Type");
    const boost::json::value* const source = want.if_contains("Source");  // if absent, the daemon chooses one
    have[want.at("Type").as_string() == "bind" ? "Source" : "Name"] = source != nullptr ? *source : "0123456789abcdef";
    have["Destination"] = want.at("Target");
    have["RW"] = !want.at("ReadOnly").as_bool();
    mounts.push_back(have);
  }
  answer["Mounts"] = mounts;
  return answer;
}

}  // namespace cofferdam_test
