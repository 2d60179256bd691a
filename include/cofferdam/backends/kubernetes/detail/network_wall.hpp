// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
#pragma once

#include <cofferdam/backends/kubernetes/detail/cluster_api.hpp>
#include <cofferdam/backends/kubernetes/detail/names.hpp>
#include <cofferdam/backends/kubernetes/detail/network_facts.hpp>
#include <cofferdam/backends/kubernetes/detail/network_policies.hpp>
#include <cofferdam/backends/kubernetes/detail/pod_request.hpp>
#include <cofferdam/core/asio.hpp>
#include <cofferdam/core/command.hpp>
#include <cofferdam/core/command_result.hpp>
#include <cofferdam/core/error.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail {

// Each cluster stores a NetworkPolicy, but only some network plugins enforce it, and some of them only for IPv4. A pod
// that can make no connection is no proof: it may have no route, a firewall or an outage may look the same. So a second
// pod, the control, which the policy does not select, tries the same addresses before and after, and must connect. And
// no packet may come from one of the two pods to the other.

/// The end of an attempt to connect.
enum class connect_attempt {
  connected,
  failed,     ///< the program has tried, and there was a refusal, or no answer in time
  not_tried,  ///< the image has no program for the attempt, or it was ended before
};

/// Returns how an attempt has ended.
/// \param end      how the command has ended, which prints "try " before the attempt, and "yes" or "no" after it.
/// \param printed  its output.
inline connect_attempt attempt_after(error_kind end, std::string_view printed) {
  if (printed == "try yes") return connect_attempt::connected;
  const bool is_over = end == error_kind::none && printed == "try no";
  const bool is_late = end == error_kind::timeout && printed == "try ";
  return is_over || is_late ? connect_attempt::failed : connect_attempt::not_tried;
}

/// A server that a pod without a NetworkPolicy can reach.
class network_target {
 public:
  address_family family;
  std::string address;
  std::string port;

  std::string shown() const {
    const bool is_ipv4 = family == address_family::ipv4;
    return (is_ipv4 ? address : "[" + address + "]") + ":" + port + " (" + std::string(name_of(family)) + ")";
  }
};

/// Shows that the cluster enforces the NetworkPolicy of this library for a pod. The object is shared by its coroutines.
class network_wall {
 public:
  /// Runs a command of this library in a pod, as `sandbox::probe` does.
  using runner = std::function<awaitable<command_result>(command)>;

  /// \param shell      the shell of the pod.
  /// \param variables  the variables of the container, which have the address of the API server.
  /// \param pod        the running pod.
  /// \param patience   the time in which a plugin must notice a pod.
  network_wall(std::shared_ptr<cluster_api> api, std::string shell, const std::vector<std::string>& variables,
               const boost::json::object& pod, std::chrono::milliseconds patience = std::chrono::seconds(10))
      : api_(std::move(api)),
        shell_(std::move(shell)),
        host_(value_of(variables, "KUBERNETES_SERVICE_HOST")),
        port_(value_of(variables, "KUBERNETES_SERVICE_PORT")),
        pod_(pod),
        patience_(patience) {}

  /// Throws if a policy may allow connections of the pod. See `require_no_hole`.
  static awaitable<void> require_no_hole(std::shared_ptr<const network_wall> self) {
    const boost::json::object* const labels = object_at(object_at(self->pod_, "metadata"), "labels");
    return detail::require_no_hole(self->api_, labels == nullptr ? boost::json::object() : *labels);
  }

  /// Tries an address of each family that the pod has, for some seconds, because a plugin needs time to notice a pod.
  /// \param guest       runs commands in the pod.
  /// \param control     runs commands in a pod of the same kind on the same node, without the policy.
  /// \param of_control  that pod.
  /// \return  the description for `isolation_kind::network`.
  /// \throws error{exec_errc::unsupported} with the reason, unless the wall is shown for each family.
  static awaitable<std::string> prove(std::shared_ptr<const network_wall> self, runner guest, runner control,
                                      boost::json::object of_control) {
    const network_facts facts = co_await settled(self, guest);
    std::string text;
    for (const address_family family : {address_family::ipv4, address_family::ipv6, address_family::link_local}) {
      if (!facts.families().contains(family) && !self->has_address(family)) continue;
      network_target target = self->target_of(family);
      if (family == address_family::link_local) {
        target.address = co_await host_end(self, guest, control);
        if (target.address.empty())
          throw self->unproven(family, "the address of the node on the pod's link is not known");
      }
      if (target.address.empty())
        throw self->unproven(family, "the node has no address of this kind that the control pod could try");
      co_await try_target(self, guest, control, target);
      text += (text.empty() ? "" : ", ") + target.shown();
    }
    if (text.empty()) throw unknown("no address was found in /proc/net");
    const network_facts control_facts = co_await settled(self, control);
    co_await require_no_arrival(self, guest, control, addresses_of(control_facts, of_control), "the pod",
                                "another pod");
    co_await require_no_arrival(self, control, guest, addresses_of(facts, self->pod_), "another pod", "the pod");
    co_return "a NetworkPolicy against all connections; the pod cannot connect to " + text +
        ", and a pod without the policy can; no packet came from one of them to the other";
  }

  static constexpr std::chrono::milliseconds attempt_limit{1500};
  /// More than the time that `prove` can take, if the pods answer.
  static constexpr std::chrono::seconds longest_proof{150};

 private:
  static constexpr int rounds = 2;  // one lost packet must not look like a wall
  static constexpr const char* kubelet_port = "10250";

  static std::string value_of(const std::vector<std::string>& variables, std::string_view name) {
    for (const std::string& each : variables)
      if (each.starts_with(name) && each.size() > name.size() && each[name.size()] == '=')
        return each.substr(name.size() + 1);
    return {};
  }

  static std::vector<std::string> addresses_in(const boost::json::object& pod, const char* all, const char* one) {
    const boost::json::object* const status = object_at(pod, "status");
    std::vector<std::string> found;
    const boost::json::array* const array = array_at(status, all);
    for (const boost::json::value& each : array == nullptr ? boost::json::array() : *array)
      found.emplace_back(text_at(each.if_object(), "ip"));
    found.emplace_back(text_at(status, one));  // clusters of an older version have only this
    return found;
  }

  /// Returns all addresses of a pod.
  static std::vector<std::string> addresses_of(const network_facts& facts, const boost::json::object& pod) {
    std::vector<std::string> all = facts.ipv6_addresses();
    for (std::string& each : addresses_in(pod, "podIPs", "podIP"))
      if (!each.empty() && std::find(all.begin(), all.end(), each) == all.end()) all.push_back(std::move(each));
    return all;
  }

  static bool is_of(address_family family, const std::string& address) {
    if (address.empty() || family == address_family::link_local) return false;
    return (address.find(':') != std::string::npos) == (family == address_family::ipv6);
  }

  bool has_address(address_family family) const {
    for (const std::string& each : addresses_in(pod_, "podIPs", "podIP"))
      if (is_of(family, each)) return true;
    return false;
  }

  /// Returns the API server if it has an address of this family, and otherwise the kubelet; without an address if it is
  /// not known.
  network_target target_of(address_family family) const {
    if (is_of(family, host_) && !port_.empty()) return {family, host_, port_};
    for (const std::string& each : addresses_in(pod_, "hostIPs", "hostIP"))
      if (is_of(family, each)) return {family, each, kubelet_port};
    return {family, std::string(), kubelet_port};
  }

  static error unknown(const std::string& reason) {
    return error(exec_errc::unsupported,
                 "kubernetes: it cannot be shown that the NetworkPolicy of the pod is enforced: " + reason);
  }

  error unproven(address_family family, const std::string& reason) const {
    const std::string name(name_of(family));
    std::string advice =
        "use a network plugin that enforces NetworkPolicies, such as Calico or Cilium, and see that it "
        "runs on the node";
    if (family == address_family::ipv6)
      advice =
          "let the network plugin enforce policies for IPv6, too (kube-router: --enable-ipv6), or switch IPv6 off "
          "for pods of the node";
    if (family == address_family::link_local)
      advice =
          "switch IPv6 off for pods of the node (sysctl net.ipv6.conf.all.disable_ipv6, by the CNI plugin tuning "
          "or by merge_patch), or use a network plugin that enforces policies for these addresses; kube-router "
          "does not, even with --enable-ipv6";
    return error(exec_errc::unsupported,
                 "kubernetes: it cannot be shown that the NetworkPolicy of the pod is enforced "
                 "for " +
                     name + ": " + reason + "; " + advice);
  }

  static awaitable<network_facts> look(std::shared_ptr<const network_wall> self, runner run) {
    command prints = argv(self->shell_, "-c", network_facts::script);
    prints.timeout(attempt_limit);
    const command_result result = co_await run(std::move(prints));
    network_facts facts = network_facts::read(result.out().text());
    if (!facts.is_whole() || result.kind() != error_kind::none)
      throw unknown("the shell of the image cannot read /proc/net: " + in_quotes(result.err().text()));
    co_return facts;
  }

  /// Waits until the addresses of a pod can be used.
  static awaitable<network_facts> settled(std::shared_ptr<const network_wall> self, runner run) {
    const auto until = std::chrono::steady_clock::now() + self->patience_;
    network_facts facts = co_await look(self, run);
    while (facts.is_tentative()) {
      if (std::chrono::steady_clock::now() >= until)
        throw unknown("an IPv6 address of the pod stays tentative, so that it cannot be tried");
      co_await wait_for(self->patience_ / 40);
      facts = co_await look(self, run);
    }
    co_return facts;
  }

  /// Returns the link-local address of the node that both pods have on their links; empty if it is not known, or if the
  /// links have different ones, because then an attempt of one pod shows nothing about that of the other.
  static awaitable<std::string> host_end(std::shared_ptr<const network_wall> self, runner guest, runner control) {
    const network_facts of_control = co_await settled(self, control);
    const network_facts of_guest = co_await look(self, guest);
    const std::string address = of_guest.host_end();
    co_return address == of_control.host_end() ? address : std::string();
  }

  /// Throws unless the control connects, the guest does not, and the control still does, some times in a row.
  static awaitable<void> try_target(std::shared_ptr<const network_wall> self, runner guest, runner control,
                                    network_target target) {
    const auto until = std::chrono::steady_clock::now() + self->patience_;
    for (int shown = 0; shown < rounds;) {
      // The last attempt of the control in one round is the first one of the next.
      connect_attempt before = connect_attempt::connected;
      if (shown == 0) before = co_await attempt(self, control, target);
      connect_attempt tried = connect_attempt::not_tried;
      connect_attempt after = connect_attempt::not_tried;
      if (before == connect_attempt::connected) tried = co_await attempt(self, guest, target);
      if (tried == connect_attempt::failed) after = co_await attempt(self, control, target);
      const bool is_shown = after == connect_attempt::connected;
      shown = is_shown ? shown + 1 : 0;
      if (is_shown) continue;
      if (std::chrono::steady_clock::now() >= until)
        throw self->unproven(target.family, reason_of(before, tried, target));
      co_await wait_for(self->patience_ / 40);
    }
  }

  static std::string reason_of(connect_attempt before, connect_attempt tried, const network_target& target) {
    if (before == connect_attempt::not_tried)
      return "the image has no program to try a connection; it needs bash or nc";
    if (tried == connect_attempt::connected) return "the pod could connect to " + target.shown();
    if (before == connect_attempt::connected && tried == connect_attempt::not_tried)
      return "a connection of the pod to " + target.shown() + " could not be tried";
    return "a control pod without the policy could not connect to " + target.shown() +
           ", or not all the time, so that failures of the pod prove nothing (a firewall, an outage, or another "
           "NetworkPolicy that selects both pods)";
  }

  static awaitable<connect_attempt> attempt(std::shared_ptr<const network_wall> self, runner run,
                                            network_target target) {
    command tries = argv(self->shell_, "-c",
                         "if [ \"$BASH_VERSION\" ]; then printf 'try '; "
                         "if (exec 3<>\"/dev/tcp/$0/$1\") 2>/dev/null; then printf yes; else printf no; fi; "
                         "elif command -v nc >/dev/null; then printf 'try '; "
                         "if { nc -z -w 1 \"$0\" \"$1\" || nc -w 1 \"$0\" \"$1\"; } </dev/null >/dev/null 2>&1; "
                         "then printf yes; else printf no; fi; fi",
                         std::move(target.address), std::move(target.port));
    tries.timeout(attempt_limit);
    const command_result result = co_await run(std::move(tries));
    co_return attempt_after(result.kind(), result.out().text());
  }

  /// Throws unless what a pod sends does not arrive in another one. The receiver first sends to itself, to show that
  /// its counters work. UDP is left out if the image cannot send it (busybox without bash).
  /// \param to           the addresses of the receiver; `host_end` has compared the names of the interfaces.
  /// \param sender_word  for error messages, as `receiver_word` is.
  static awaitable<void> require_no_arrival(std::shared_ptr<const network_wall> self, runner sender, runner receiver,
                                            std::vector<std::string> to, std::string sender_word,
                                            std::string receiver_word) {
    const auto until = std::chrono::steady_clock::now() + self->patience_;
    const stray_packets first = co_await count(self, receiver);
    co_await send(self, receiver, to);
    stray_packets before = co_await count(self, receiver);
    if (before.tcp() == first.tcp()) throw unknown("it cannot be seen if packets arrive in " + receiver_word);
    while (true) {
      co_await send(self, sender, to);
      const stray_packets after = co_await count(self, receiver);
      const bool has_tcp = after.tcp() != before.tcp();
      if (!has_tcp && after.udp() == before.udp()) co_return;
      if (std::chrono::steady_clock::now() >= until) {
        std::string text;
        for (const std::string& each : to) text += (text.empty() ? "" : ", ") + each;
        throw unknown(std::string(has_tcp ? "TCP" : "UDP") + " packets of " + sender_word + " arrive in " +
                      receiver_word + " of the node, at one of the addresses " + text +
                      "; a network plugin that filters by iptables needs the sysctls "
                      "net.bridge.bridge-nf-call-iptables and -ip6tables on the node");
      }
      co_await wait_for(self->patience_ / 40);
      before = co_await count(self, receiver);
    }
  }

  static awaitable<stray_packets> count(std::shared_ptr<const network_wall> self, runner run) {
    command prints = argv(self->shell_, "-c", stray_packets::script);
    prints.timeout(attempt_limit);
    const command_result result = co_await run(std::move(prints));
    const stray_packets packets = stray_packets::read(result.out().text());
    if (!packets.is_whole() || result.kind() != error_kind::none)
      throw unknown("the shell of the image cannot read /proc/net/snmp");
    co_return packets;
  }

  /// Sends packets by TCP and UDP to a port of each address where nothing listens, and does not wait for answers.
  static awaitable<void> send(std::shared_ptr<const network_wall> self, runner run, std::vector<std::string> to) {
    std::vector<std::string> words{
        self->shell_, "-c",
        "if [ \"$BASH_VERSION\" ]; then for a; do (exec 3<>\"/dev/tcp/$a/9\") 2>/dev/null & "
        "(echo >\"/dev/udp/$a/9\") 2>/dev/null & done; elif command -v nc >/dev/null; then for a; do "
        "nc -w 1 \"$a\" 9 </dev/null >/dev/null 2>&1 & echo | nc -u -w 1 \"$a\" 9 >/dev/null 2>&1 & done; "
        "else exit 1; fi; printf sent; wait",
        "sh"};
    for (std::string& each : to) words.push_back(std::move(each));
    command sends = argv(std::move(words));
    sends.timeout(attempt_limit);
    const command_result result = co_await run(std::move(sends));
    const bool is_over = result.kind() == error_kind::none || result.kind() == error_kind::timeout;
    if (!is_over || result.out().text() != "sent") throw unknown("packets between two pods could not be tried");
  }

  std::shared_ptr<cluster_api> api_;
  std::string shell_;
  std::string host_;
  std::string port_;
  boost::json::object pod_;
  std::chrono::milliseconds patience_;
};

}  // namespace cofferdam::inline COFFERDAM_ABI::kubernetes::detail
