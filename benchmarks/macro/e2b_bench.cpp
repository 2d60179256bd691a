// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
// Compares the library's E2B client with E2B's own SDKs for Python and JavaScript. The measurements are interleaved.
// First, all clients use one gateway over local folders, which runs in another process. Then they use a program in Go
// that starts processes as E2B's daemon does: the Python SDK, and this library with both ways to start commands. Usage:
// e2b_bench [ROUNDS [FOLDER [daemon [OPERATION...]]]]. FOLDER (default: COFFERDAM_E2B_PEERS) contains the SDKs;
// tests/serve/sdk/peers.sh FOLDER installs them. With the word `daemon`, only the second part runs; with operations
// (such as `command file`), only these.
#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/stream_output.hpp>
#include <cofferdam/files/upload.hpp>
#include <cofferdam/net/listener.hpp>
#include <cofferdam/serve/e2b_gateway.hpp>

#include "../../tests/support/go_program.hpp"
#include "../support/peer.hpp"
#include "../support/table.hpp"

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace cofferdam;
using cofferdam_bench::peer;
using cofferdam_bench::row;
using nanoseconds = std::chrono::nanoseconds;

constexpr std::size_t size = std::size_t{64} << 20;
constexpr const char* key = "e2b_00112233445566778899aabbccddeeff00112233";

/// A process that runs the gateway.
class gateway_process {
 public:
  gateway_process() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      serve(ends[1]);
    }
    ::close(ends[1]);
    if (::read(ends[0], &port_, sizeof port_) != sizeof port_) throw std::runtime_error("the gateway does not start");
    ::close(ends[0]);
  }
  gateway_process(const gateway_process&) = delete;
  gateway_process& operator=(const gateway_process&) = delete;
  ~gateway_process() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  [[noreturn]] static void serve(int answer) {
    asio::io_context loop(1);
    e2b_gateway::server gateway(loop.get_executor(), local().without_warning(), e2b_gateway::options().api_key(key));
    listener where = tcp_listener(loop.get_executor(), "127.0.0.1", 0);
    const std::uint16_t port = where.port();
    asio::co_spawn(loop, gateway.serve(std::move(where)), [](std::exception_ptr) {});
    if (::write(answer, &port, sizeof port) != sizeof port) ::_exit(1);
    ::close(answer);
    loop.run();
    ::_exit(0);
  }

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

/// The cost of one operation: the elapsed time, and the CPU time of the client process.
class cost {
 public:
  nanoseconds time{0};
  nanoseconds cpu{0};

  static cost of(peer& other, const std::string& word) {
    std::istringstream answer(other.ask(word));
    double time = 0;
    double cpu = 0;
    answer >> time >> cpu;
    cost spent;
    spent.time = nanoseconds(static_cast<std::int64_t>(time * 1e9));
    spent.cpu = nanoseconds(static_cast<std::int64_t>(cpu * 1e9));
    return spent;
  }
};

nanoseconds own_cpu() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  return seconds + std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/// The measurements of one operation: the time and the CPU time of each client.
class comparison {
 public:
  comparison(std::string title, const std::vector<std::string>& clients) : title_(std::move(title)) {
    for (const std::string& who : clients) {
      times_.emplace_back(who);
      cpus_.emplace_back(who + ", CPU of the client");
    }
  }
  void add(std::size_t who, const cost& spent) {
    times_[who].add(spent.time);
    cpus_[who].add(spent.cpu);
  }
  void print() const {
    cofferdam_bench::print((title_ + ", interleaved").c_str(), times_);
    cofferdam_bench::print((title_ + ", what it costs the client").c_str(), cpus_);
  }

 private:
  std::string title_;
  std::vector<row> times_;
  std::vector<row> cpus_;
};

/// Removes the copy that an earlier round has made. A service that overwrites a file in place would otherwise save the
/// memory of a new file; this library replaces a file as a whole.
awaitable<void> remove_copy(e2b::environment& env, std::string word) {
  if (word != "file") co_return;
  try {
    co_await env.files().remove(std::filesystem::path(std::getenv("COFFERDAM_E2B_FILE")).filename().string());
  } catch (const error& failure) {
    if (failure.code() != exec_errc::not_found) throw;
  }
}

awaitable<void> run_once(e2b::environment& env, std::string word, const bytes& content, cost& spent) {
  co_await remove_copy(env, word);
  const auto begin = std::chrono::steady_clock::now();
  const nanoseconds busy = own_cpu();
  if (word == "command") {
    command_result result = co_await env.run_command(shell("true"));
    if (!result.ok()) throw std::runtime_error("true failed");
  } else if (word == "output") {
    command line = shell("head -c " + std::to_string(size) + " /dev/zero | tr '\\0' x");
    line.keep_output(size);
    command_result result = co_await env.run_command(std::move(line));
    if (result.out().total() != size || result.out().text().size() != size)
      throw std::runtime_error("output is missing");
  } else if (word == "stream") {
    std::size_t received = 0;
    const auto arrived = [&received](const output_chunk& piece) { received += piece.data().size(); };
    command line = shell("head -c " + std::to_string(size) + " /dev/zero | tr '\\0' x");
    command_result result = co_await stream_output(env, std::move(line), arrived);
    if (!result.ok() || received != size) throw std::runtime_error("output is missing");
  } else if (word == "small") {
    co_await env.write_file("small", as_bytes("hello"));
  } else if (word == "upload") {
    co_await env.write_file("ours", content);
  } else if (word == "file") {
    const transfer_result moved = co_await upload(env, files(std::getenv("COFFERDAM_E2B_FILE")));
    if (!moved.ok()) throw moved.failed().front().reason();
  } else {
    bytes back = co_await env.read_file("ours", size);
    if (back.size() != size) throw std::runtime_error("the file is short");
  }
  spent.time = std::chrono::steady_clock::now() - begin;
  spent.cpu = own_cpu() - busy;
}

const std::vector<std::string> clients{"official JavaScript SDK", "official Python SDK", "cofferdam"};
const std::vector<std::string> clients_of_daemon{"official Python SDK", "cofferdam, by a warden",
                                                 "cofferdam, by the daemon"};
const std::vector<std::pair<std::string, std::string>> operations{
    {"command", "The command `true`"},
    {"output", "64 MiB of output, kept as one text"},
    {"stream", "64 MiB of output, handed over as it comes"},
    {"upload", "64 MiB of memory into a file"},
    {"file", "A file of 64 MiB of this machine into a new one there"},
    {"download", "64 MiB out of a file"}};
const std::vector<std::pair<std::string, std::string>> operations_of_daemon = [] {
  std::vector<std::pair<std::string, std::string>> all = operations;
  all.emplace(all.begin() + 1, "small", "5 bytes into a file");
  return all;
}();

int rounds_of(const std::string& word, int rounds) {
  return word == "command" || word == "small" ? rounds : std::max(6, rounds / 10);
}

awaitable<void> compare(const std::string& url, peer& javascript, peer& python, int rounds) {
  const e2b::provider provider =
      e2b::from_template("base").variables_from(e2b::surroundings()).api_key(key).api_url(url).sandbox_url(url);
  e2b::environment env = co_await provider.open();
  const bytes content(size, std::byte{'x'});
  for (const auto& [word, title] : operations) {
    comparison compared(title, clients);
    const int count = rounds_of(word, rounds);
    for (int i = -1; i < count; ++i) {
      const cost theirs = cost::of(javascript, word);
      const cost others = cost::of(python, word);
      cost ours;
      co_await run_once(env, word, content, ours);
      if (i < 0) continue;
      compared.add(0, theirs);
      compared.add(1, others);
      compared.add(2, ours);
    }
    compared.print();
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf(
      "our memory at its peak: %ld MiB, of which 64 are the upload's content and up to 128 what is kept of a "
      "result\n\n",
      used.ru_maxrss / 1024);
  co_await env.close();
}

/// A connection that stays open and uses system calls only. Its times are the least that any client can need.
class raw_connection {
 public:
  explicit raw_connection(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
      throw std::runtime_error("connect");
  }
  raw_connection(const raw_connection&) = delete;
  raw_connection& operator=(const raw_connection&) = delete;
  ~raw_connection() { ::close(fd_); }

  /// Sends a request. \return the body of the reply, which must have a Content-Length.
  std::string ask(const std::string& request, std::string_view content = {}) {
    for (std::string_view part : {std::string_view(request), content}) {
      while (!part.empty()) {
        const ssize_t count = ::write(fd_, part.data(), part.size());
        if (count <= 0) throw std::runtime_error("write");
        part.remove_prefix(static_cast<std::size_t>(count));
      }
    }
    std::string answer;
    for (;;) {
      char piece[8192];
      const ssize_t got = ::read(fd_, piece, sizeof piece);
      if (got <= 0) throw std::runtime_error("the gateway has hung up");
      answer.append(piece, static_cast<std::size_t>(got));
      const std::size_t end = answer.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      std::string head = answer.substr(0, end);
      std::transform(head.begin(), head.end(), head.begin(), [](unsigned char c) { return std::tolower(c); });
      const std::size_t length = head.find("content-length: ");
      if (length == std::string::npos) throw std::runtime_error("an answer without a length: " + head);
      if (answer.size() >= end + 4 + std::stoul(head.substr(length + 16))) return answer.substr(end + 4);
    }
  }

 private:
  int fd_;
};

std::string request_of(const std::string& line, const std::string& headers, const std::string& body) {
  return line + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

awaitable<void> overhead(const gateway_process& gateway, int rounds) {
  const e2b::provider provider = e2b::from_template("base")
                                     .variables_from(e2b::surroundings())
                                     .api_key(key)
                                     .api_url(gateway.url())
                                     .sandbox_url(gateway.url());
  e2b::environment env = co_await provider.open();
  raw_connection raw(gateway.port());
  const std::string by_key = "X-API-KEY: " + std::string(key) + "\r\n";
  const boost::json::value created = boost::json::parse(
      raw.ask(request_of("POST /sandboxes", by_key, R"({"templateID":"base","timeout":300,"secure":true})")));
  const auto sandbox_member = [&created](const char* name) { return std::string(created.at(name).as_string()); };
  const std::string listing =
      request_of("POST /process.Process/List",
                 "E2b-Sandbox-Id: " + sandbox_member("sandboxID") + "\r\nE2b-Sandbox-Port: 49983\r\n" +
                     "X-Access-Token: " + sandbox_member("envdAccessToken") + "\r\nConnect-Protocol-Version: 1\r\n",
                 "{}");
  std::vector<row> rows;
  rows.emplace_back("the same request on a bare socket that stays open");
  rows.emplace_back("environment::processes(), which lists none");
  for (int i = -10; i < rounds * 10; ++i) {
    const nanoseconds bare = cofferdam_bench::timed([&] { raw.ask(listing); });
    const auto begin = std::chrono::steady_clock::now();
    std::vector<e2b::running_process> none = co_await env.processes();
    const nanoseconds ours = std::chrono::steady_clock::now() - begin;
    if (!none.empty()) throw std::runtime_error("somebody runs there");
    if (i < 0) continue;
    rows[0].add(bare);
    rows[1].add(ours);
  }
  cofferdam_bench::print("A request, interleaved", rows);

  // Uploads the same bytes over a bare socket. The kernel's cost of the upload is the floor for each client.
  const bytes content(size, std::byte{'x'});
  const std::string upload = "POST /files?path=floor&username=user HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " +
                             std::string("application/octet-stream\r\nContent-Length: ") + std::to_string(size) +
                             "\r\nE2b-Sandbox-Id: " + sandbox_member("sandboxID") +
                             "\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: " + sandbox_member("envdAccessToken") +
                             "\r\n\r\n";
  std::vector<row> times;
  std::vector<row> cpus;
  for (const char* who : {"a bare socket", "cofferdam"}) {
    times.emplace_back(std::string(who));
    cpus.emplace_back(std::string(who) + ", CPU of the client");
  }
  for (int i = -1; i < std::max(5, rounds / 10); ++i) {
    cost bare;
    const nanoseconds busy = own_cpu();
    bare.time = cofferdam_bench::timed([&] { raw.ask(upload, as_text(content)); });
    bare.cpu = own_cpu() - busy;
    cost ours;
    co_await run_once(env, "upload", content, ours);
    if (i < 0) continue;
    times[0].add(bare.time);
    times[1].add(ours.time);
    cpus[0].add(bare.cpu);
    cpus[1].add(ours.cpu);
  }
  cofferdam_bench::print("64 MiB into a file beside the floor, interleaved", times);
  cofferdam_bench::print("64 MiB into a file beside the floor, what it costs the client", cpus);
  raw.ask(request_of("GET /sandboxes", by_key, ""));
  co_await env.close();
}

/// Processes that compute all the time, as other programs of a busy machine do.
class busy_loops {
 public:
  explicit busy_loops(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned spins = 0;;) spins = spins + 1;
      }
      pids_.push_back(pid);
    }
  }
  busy_loops(const busy_loops&) = delete;
  busy_loops& operator=(const busy_loops&) = delete;
  ~busy_loops() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> pids_;
};

/// Measures one operation of the Python SDK and of both ways of this library to start commands. Six rounds have all
/// orders of the three: the first one after a large result must often wait until the kernel has cleared memory for it.
awaitable<void> compare_one(e2b::environment& warden, e2b::environment& daemon, peer& python, std::string word,
                            int rounds, comparison& compared) {
  const bytes content(size, std::byte{'x'});
  std::array<std::size_t, 3> order{0, 1, 2};
  for (int i = -1; i < rounds; ++i) {
    for (const std::size_t who : order) {
      cost spent;
      if (who == 0) {
        spent = cost::of(python, word);
      } else {
        e2b::environment& env = who == 1 ? warden : daemon;
        co_await run_once(env, word, content, spent);
      }
      if (i >= 0) compared.add(who, spent);
    }
    std::next_permutation(order.begin(), order.end());
  }
}

/// Compares the Python SDK with this library, which starts commands by a warden and by the daemon.
/// \param only the operations to compare; if empty, all.
awaitable<void> compare_ways(std::string url, peer& python, int rounds, std::string load,
                             std::vector<std::string> only) {
  e2b::provider provider =
      e2b::from_template("base").variables_from(e2b::surroundings()).api_key(key).api_url(url).sandbox_url(url);
  provider.by(e2b::command_transport::warden);
  e2b::environment warden = co_await provider.open();
  provider.by(e2b::command_transport::daemon);
  e2b::environment daemon = co_await provider.open();
  for (std::size_t i = 0; i < operations_of_daemon.size(); ++i) {
    const std::string word = operations_of_daemon[i].first;
    if (!only.empty() && std::find(only.begin(), only.end(), word) == only.end()) continue;
    comparison compared(operations_of_daemon[i].second + ", a daemon in Go, " + load, clients_of_daemon);
    co_await compare_one(warden, daemon, python, word, rounds_of(word, rounds), compared);
    compared.print();
  }
  co_await warden.close();
  co_await daemon.close();
}

/// Runs work on a loop of its own, and prints its error. \return  false after an error.
bool ran(const std::function<awaitable<void>()>& work) {
  asio::io_context loop(1);
  bool good = true;
  const auto ended = [&good](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "e2b_bench: %s\n", error.what());
      good = false;
    }
  };
  asio::co_spawn(loop, work, ended);
  loop.run();
  return good;
}

/// Sets the variables from which the SDKs take the URL of the service.
void announce(const std::string& url) {
  ::setenv("E2B_API_URL", url.c_str(), 1);
  ::setenv("E2B_SANDBOX_URL", url.c_str(), 1);
}

bool with_gateway(const std::string& peers, int rounds) {
  const gateway_process gateway;
  announce(gateway.url());
  peer javascript({peers + "/node", COFFERDAM_PEERS "/e2b_peer.mjs", peers + "/js"});
  peer python({peers + "/python/bin/python", COFFERDAM_PEERS "/e2b_peer.py"});
  const auto work = [&]() -> awaitable<void> {
    co_await compare(gateway.url(), javascript, python, rounds);
    co_await overhead(gateway, rounds);
  };
  if (!ran(work)) return false;
  javascript.ask("end");
  python.ask("end");
  return true;
}

bool with_daemon(const std::string& peers, const std::string& folder, int rounds,
                 const std::vector<std::string>& only) {
  if (!cofferdam_test::has_go()) {
    std::printf("not run: a daemon in Go, because Go is not installed\n");
    return true;
  }
  const std::string program =
      cofferdam_test::build_go_program(COFFERDAM_PEERS "/../../tests/backends/e2b/go_daemon", folder);
  const cofferdam_test::go_program daemon(program, {"-folder", folder});
  announce(daemon.url());
  peer python({peers + "/python/bin/python", COFFERDAM_PEERS "/e2b_peer.py"});
  const auto idle = [&]() { return compare_ways(daemon.url(), python, rounds, "idle", only); };
  if (!ran(idle)) return false;
  {
    const busy_loops loops(2);
    const auto busy = [&]() { return compare_ways(daemon.url(), python, rounds, "beside two busy loops", only); };
    if (!ran(busy)) return false;
  }
  python.ask("end");
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 100;
  const char* const default_peers = std::getenv("COFFERDAM_E2B_PEERS");
  const std::string peers = count > 2 ? arguments[2] : default_peers == nullptr ? "" : default_peers;
  if (peers.empty()) {
    std::printf("not run: COFFERDAM_E2B_PEERS names no folder with E2B's SDKs (tests/serve/sdk/peers.sh makes one)\n");
    return 0;
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::setenv("E2B_API_KEY", key, 1);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("e2b_bench-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = folder / "content";
  std::ofstream(file) << std::string(size, 'x');
  ::setenv("COFFERDAM_E2B_FILE", file.c_str(), 1);
  const bool only_daemon = count > 3 && std::string_view(arguments[3]) == "daemon";
  const std::vector<std::string> only(arguments + std::min(count, 4), arguments + count);
  const bool good = (only_daemon || with_gateway(peers, rounds)) && with_daemon(peers, folder.string(), rounds, only);
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
