// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Searches the core dump of an E2B client for the API key. The test reads, from outside, all memory of the process
// that the kernel would write into a core dump.

#include <cofferdam/backends/e2b.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/detail/net/http_client.hpp>
#include <cofferdam/detail/net/http_server.hpp>
#include <cofferdam/detail/net/tls_connector.hpp>
#include <cofferdam/net/tls.hpp>
#include <cofferdam/net/tls_listener.hpp>

#include "net/certificates.hpp"
#include "support/gateway_thread.hpp"
#include "support/run.hpp"
#include "support/spawn.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace core_dump_tests {

using namespace cofferdam;
using cofferdam::detail::http_client;
using cofferdam::detail::http_server;
using cofferdam::detail::tls_connector;

// These constants lie in pages of the program's file, which a core dump does not contain while they are unchanged.
// Each test has a key of its own, because a forked client also contains traces of the keys of earlier tests.
constexpr const char* key_in_options = "e2b_c0ffee00d15ea5e0c0ffee00d15ea5e0deadbee1";
constexpr const char* key_in_the_open = "e2b_c0ffee00d15ea5e0c0ffee00d15ea5e0deadbee2";
constexpr const char* key_in_variables = "e2b_c0ffee00d15ea5e0c0ffee00d15ea5e0deadbee3";
constexpr const char* key_over_tls = "e2b_c0ffee00d15ea5e0c0ffee00d15ea5e0deadbee4";

/// A child process that runs `work` after it receives a word, confirms the end, and stays alive.
class client_process {
 public:
  explicit client_process(const std::function<void(const std::string& word)>& work) {
    if (::pipe2(orders_, O_CLOEXEC) != 0 || ::pipe2(answers_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("no process");
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char done = 'y';
    try {
      std::array<char, 4096> word{};
      const ssize_t size = ::read(orders_[0], word.data(), word.size());
      work(std::string(word.data(), size < 0 ? 0 : static_cast<std::size_t>(size)));
    } catch (const std::exception& wrong) {
      done = 'n';
      static_cast<void>(!::write(2, wrong.what(), std::string_view(wrong.what()).size()));
    }
    static_cast<void>(!::write(answers_[1], &done, 1));
    for (;;) ::pause();
  }
  client_process(const client_process&) = delete;
  client_process& operator=(const client_process&) = delete;
  ~client_process() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {orders_[0], orders_[1], answers_[0], answers_[1]}) ::close(fd);
  }

  void give(const std::string& word) { static_cast<void>(!::write(orders_[1], word.data(), word.size())); }
  bool has_done_it() {
    char done = 0;
    return ::read(answers_[0], &done, 1) == 1 && done == 'y';
  }

  /// Returns the number of occurrences in the memory that a core dump would contain: writable memory without the flag
  /// `dd` in /proc/PID/smaps, proc(5).
  int count(std::string_view searched_text) const {
    const std::string proc = "/proc/" + std::to_string(pid_);
    std::ifstream maps(proc + "/smaps");
    const int memory = ::open((proc + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    if (!maps || memory < 0) throw std::runtime_error("its memory cannot be read");
    int found = 0;
    unsigned long begin = 0;
    unsigned long end = 0;
    bool is_written = false;
    for (std::string line; std::getline(maps, line);) {
      std::istringstream words(line);
      std::string first;
      std::string rights;
      words >> first >> rights;
      if (!first.ends_with(':')) {
        const std::size_t dash = first.find('-');
        begin = std::stoul(first.substr(0, dash), nullptr, 16);
        end = std::stoul(first.substr(dash + 1), nullptr, 16);
        is_written = rights.size() == 4 && rights[0] == 'r' && rights[1] == 'w';
      } else if (first == "VmFlags:" && is_written && line.find(" dd ") == std::string::npos &&
                 line.find(" dd") != line.size() - 3) {
        found += count_in(memory, begin, end, searched_text);
      }
    }
    ::close(memory);
    return found;
  }

 private:
  static int count_in(int memory, unsigned long begin, unsigned long end, std::string_view searched_text) {
    constexpr std::size_t piece = std::size_t{1} << 20;
    int found = 0;
    std::string text;
    for (unsigned long at = begin; at < end;) {
      std::string more(std::min<std::size_t>(piece, end - at), '\0');
      const ssize_t got = ::pread(memory, more.data(), more.size(), static_cast<off_t>(at));
      if (got <= 0) break;
      more.resize(static_cast<std::size_t>(got));
      text += more;
      for (std::size_t i = text.find(searched_text); i != std::string::npos; i = text.find(searched_text, i + 1))
        ++found;
      text.erase(0, text.size() - std::min(text.size(), searched_text.size() - 1));
      at += static_cast<unsigned long>(got);
    }
    return found;
  }

  pid_t pid_ = -1;
  int orders_[2];
  int answers_[2];
};

/// Opens a sandbox and runs a command in it. Nothing is closed or destroyed, as in a client that dumps core during
/// its work.
void use_sandbox(const std::string& url, const e2b::surroundings& variables, const char* key = nullptr) {
  auto* const loop = new asio::io_context(1);
  const auto work = [&]() -> awaitable<void> {
    e2b::provider recipe = e2b::from_template("base").variables_from(variables).api_url(url).sandbox_url(url);
    if (key != nullptr) recipe = std::move(recipe).api_key(std::string(key));
    auto* const env = new std::optional<e2b::environment>;
    e2b::environment opened = co_await recipe.open();
    env->emplace(std::move(opened));
    const command_result result = co_await (*env)->run_command(shell("echo hello"));
    if (result.out().text() != "hello\n") throw std::runtime_error("no hello");
    const std::vector<e2b::running_process> none = co_await (*env)->processes();
    if (!none.empty()) throw std::runtime_error("somebody runs there");
  };
  std::exception_ptr failure;
  bool over = false;
  cofferdam_test::spawn(*loop, work, [&](std::exception_ptr why) {
    failure = std::move(why);
    over = true;
  });
  while (!over && loop->run_one() != 0) {
  }
  if (failure) std::rethrow_exception(failure);
}

TEST(CoreDump, of_a_client_of_e2b_does_not_hold_the_key) {
  client_process client([](const std::string& url) { use_sandbox(url, e2b::surroundings(), key_in_options); });
  const cofferdam_test::gateway_thread gateway(local().without_warning(),
                                               e2b_gateway::options().api_key(key_in_options));
  client.give(gateway.url());
  ASSERT_TRUE(client.has_done_it());
  EXPECT_EQ(client.count(key_in_options), 0);
}

TEST(CoreDump, holds_a_key_that_lies_in_plain_memory) {
  static std::string* volatile kept = nullptr;
  client_process client([](const std::string&) {
    kept = new std::string(key_in_the_open);
    if (kept->empty()) throw std::runtime_error("it is empty");
  });
  client.give("go");
  ASSERT_TRUE(client.has_done_it());
  EXPECT_GE(client.count(key_in_the_open), 1);
}

TEST(CoreDump, does_not_hold_a_key_from_the_environment) {
  client_process client([](const std::string& url) {
    // The test does not call setenv(), which leaves a copy of the value on the stack.
    constexpr std::string_view name = "E2B_API_KEY=";
    auto* const text = static_cast<char*>(std::malloc(256));
    std::strcpy(text, name.data());
    std::strcat(text, key_in_variables);
    ::putenv(text);
    use_sandbox(url, e2b::surroundings::of_this_process());
  });
  const cofferdam_test::gateway_thread gateway(local().without_warning(),
                                               e2b_gateway::options().api_key(key_in_variables));
  client.give(gateway.url());
  ASSERT_TRUE(client.has_done_it());
  EXPECT_EQ(client.count(key_in_variables), 0);
}

TEST(CoreDump, of_a_client_over_tls_does_not_hold_a_secret_field) {
  const cofferdam_test::certificate authority("");
  const cofferdam_test::certificate shown("DNS:localhost,IP:127.0.0.1", &authority);
  const std::string trusted = authority.pem();
  client_process client([&trusted](const std::string& port) {
    auto* const loop = new asio::io_context(1);
    auto* const leaked_client = new http_client(
        loop->get_executor(),
        tls_connector("127.0.0.1", static_cast<std::uint16_t>(std::stoi(port)), tls_settings().trust(trusted)));
    bool answered = false;
    const auto ask = [&]() -> awaitable<void> {
      http_request what("GET", "/");
      what.secret_field("X-Key", secret_string(std::string(key_over_tls)));
      const http_response response = co_await leaked_client->request(std::move(what));
      answered = response.text() == "44";
    };
    cofferdam_test::spawn(*loop, ask, [loop](const std::exception_ptr&) { loop->stop(); });
    loop->run();
    if (!answered) throw std::runtime_error("no answer");
  });
  asio::io_context loop(1);
  listener where = tls_listener(loop.get_executor(), "127.0.0.1", 0,
                                tls_server_settings().certificate(shown.pem(), shown.key_pem()));
  const std::uint16_t port = where.port();
  http_server server(loop.get_executor(), [](http_call& call) {
    return call.reply(http_reply(200).content("text/plain", std::to_string(call.field("X-Key").value_or("").size())));
  });
  server.listen(std::move(where));
  cofferdam_test::spawn(loop, server.run(), [](const std::exception_ptr&) {});
  std::thread serving([&loop] { loop.run(); });
  client.give(std::to_string(port));
  EXPECT_TRUE(client.has_done_it());
  EXPECT_EQ(client.count(key_over_tls), 0);
  loop.stop();
  serving.join();
}

}  // namespace core_dump_tests
