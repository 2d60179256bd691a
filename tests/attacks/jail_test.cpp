// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// Attacks SY, NT, FS, PR and EN of the project's catalogue of attacks, as far as the jail's isolation must prevent
// them. Each attack runs twice: in the jail, where it must fail, and on `local` without its protections, where it must
// succeed. The tests check files, sockets and processes of the host, and search the guest's output for canary texts.

#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>
#include <cofferdam/detail/os/machine.hpp>

#include "support/census.hpp"
#include "support/jail_tests.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace jail_attacks {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::eventually;
using cofferdam_test::process_entry;
using cofferdam_test::result_of;
using cofferdam_test::run;

constexpr std::string_view canary = "canary-3f9c27d1";

class JailAttack : public cofferdam_test::jail_fixture {
 protected:
  jail in_jail() const { return recipe(); }
  /// Returns the recipe of the control, in which the attacks succeed.
  local unprotected() const {
    return local()
        .without_warning()
        .temporary_base(base_.path())
        .kill_grace(100ms)
        .landlock(0)
        .tracing(tracing_policy::allowed);
  }

  /// Runs an attack in the jail and then, as the control, on `local`. Expects that `worked` returns false for the
  /// result in the jail, and true for the result on `local`.
  void expect_held(const command& attack, const std::function<bool(const command_result&)>& worked) {
    const command_result held = result_of(in_jail(), attack);
    EXPECT_FALSE(worked(held)) << "in the jail: " << held.out().text() << held.err().text();
    const command_result control = result_of(unprotected(), attack);
    EXPECT_TRUE(worked(control)) << "the control: " << control.out().text() << control.err().text() << control.reason();
  }

  /// As `expect_held`, with its control, for an attack that works if its output contains the canary.
  void expect_hidden(const command& attack) {
    expect_held(attack,
                [](const command_result& result) { return result.out().text().find(canary) != std::string::npos; });
  }

  std::string seen_;
};

command python(const std::string& code, const std::string& argument = "") {
  return argv("python3", "-I", "-c", code, argument).timeout(30s);
}

/// A process of the host that has the canary in its environment, and the same user as the attack.
class victim {
 public:
  victim() : pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string variable = "SECRET=" + std::string(canary);
    const char* const variables[] = {variable.c_str(), nullptr};
    const char* const words[] = {"sleep", "1000", nullptr};
    ::execve("/bin/sleep", const_cast<char* const*>(words), const_cast<char* const*>(variables));
    ::_exit(127);
  }
  victim(const victim&) = delete;
  victim& operator=(const victim&) = delete;
  ~victim() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  std::string pid() const { return std::to_string(pid_); }
  bool is_alive() const { return cofferdam_test::is_alive(pid_); }

 private:
  pid_t pid_;
};

/// A listening socket of the host, which counts the connections to it.
class listener {
 public:
  listener(int family, const sockaddr* address, socklen_t size)
      : fd_(::socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    if (::bind(fd_, address, size) != 0 || ::listen(fd_, 16) != 0) std::abort();
  }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener() { ::close(fd_); }

  std::size_t connections() {
    for (int one = 0; (one = ::accept(fd_, nullptr, nullptr)) >= 0; ::close(one)) ++count_;
    return count_;
  }
  std::uint16_t port() const {
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&bound), &size);
    return ntohs(bound.sin_port);
  }

 private:
  int fd_;
  std::size_t count_ = 0;
};

/// Returns a listener on a Unix socket of the host. A `@` at the start of the name stands for the NUL of an abstract
/// socket.
listener unix_listener(std::string name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.front() == '@') name.front() = '\0';
  std::memcpy(address.sun_path, name.data(), name.size());
  return listener(
      AF_UNIX, reinterpret_cast<const sockaddr*>(&address),
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name.front() == '\0' ? 0 : 1)));
}

bool is_root() { return ::geteuid() == 0; }

}  // namespace

// ---- files ----------------------------------------------------------------------------------------------------------

TEST_F(JailAttack, FS_19_files_of_the_host_are_not_there) {
  const std::string secret = base_.write("home/.ssh/id_ed25519", canary).string();
  expect_hidden("cat " + secret + " /proc/self/root" + secret + " /proc/1/root" + secret + " /proc/1/cwd" + secret);
  expect_hidden("for up in . .. ../.. ../../.. ../../../..; do cat $up" + secret + "; done");
  EXPECT_FALSE(result_of(in_jail(), "cat /etc/shadow || ls /root || ls /home || ls /run || ls /var").ok());
}

TEST_F(JailAttack, FS_06_no_directory_of_the_host_leads_out_of_the_working_directory) {
  const std::string secret = base_.write("secret", canary).string();
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  std::filesystem::create_directory(shared / "sub");
  const auto worked = [](const command_result& result) {
    return result.out().text().find(canary) != std::string::npos;
  };
  const command climb =
      command("cat ../../secret ../secret; cd -P .. 2>/dev/null; cat ../secret; cat /proc/self/cwd/../../secret")
          .working_directory("sub");
  EXPECT_FALSE(worked(result_of(in_jail().workspace(shared), climb)));
  EXPECT_TRUE(worked(result_of(unprotected().workspace(shared), climb)));
}

TEST_F(JailAttack, FS_18_read_only_folders_stay_read_only) {
  COFFERDAM_NEEDS("root", is_root(), "a control in which mount works");
  const std::string in = base_.make_folder("in").string();
  base_.write("in/file", "original");
  const std::string change = "mount -o remount,rw,bind " + in + "; umount " + in + "; chmod 777 " + in +
                             "/file; echo " + std::string(canary) + " > " + in + "/file";
  const auto changed = [&] { return base_.read("in/file") != "original"; };
  result_of(in_jail().mount_read_only(in), change);
  EXPECT_FALSE(changed());
  result_of(unprotected(), "unshare -m sh -c '" + change + "'");
  EXPECT_TRUE(changed());
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  const std::string mount = "mount -t tmpfs none /mnt && touch made; mount --bind . /tmp && touch made";
  result_of(in_jail().workspace(shared), mount);
  EXPECT_FALSE(base_.has("shared/made"));
  const command_result control = result_of(unprotected().workspace(shared), "unshare -m sh -c '" + mount + "'");
  EXPECT_TRUE(base_.has("shared/made")) << control.err().text();
}

// A mount covers earlier mounts beneath it, so their order decides.
TEST_F(JailAttack, FS_18_a_read_only_folder_inside_a_writable_one_stays_read_only) {
  const std::filesystem::path outer = base_.make_shared_folder("outer");
  const std::filesystem::path data = base_.make_shared_folder("outer/data");
  const std::string change = "echo " + std::string(canary) + " > " + data.string() + "/file";
  const auto changed = [&] { return base_.has("outer/data/file"); };
  result_of(in_jail().workspace(outer).workspace_path(outer.string()).mount_read_only(data), change);
  EXPECT_FALSE(changed());
  result_of(in_jail().mount_read_only(data).mount_writable(outer), change);
  EXPECT_FALSE(changed());
  result_of(in_jail().mount_writable(outer), change);
  EXPECT_TRUE(changed());
}

// The folder of a mount could be moved away, and another one made in its place.
TEST_F(JailAttack, FS_18_a_read_only_folder_cannot_be_replaced_by_moving_the_folder_around_it) {
  const std::filesystem::path outer = base_.make_shared_folder("outer");
  base_.make_shared_folder("outer/a");
  base_.make_shared_folder("outer/a/b");
  const std::filesystem::path one = base_.make_shared_folder("outer/a/b/one");
  const std::filesystem::path two = base_.make_shared_folder("outer/a/b/two");
  const std::filesystem::path other = base_.make_shared_folder("outer/a/c");
  const std::string top = outer.string();
  for (const std::string moved : {"/a", "/a/b"}) {
    const std::string attack = "mv " + top + moved + " " + top + "/away; mkdir -p " + one.string() + "; echo " +
                               std::string(canary) + " > " + one.string() + "/file";
    const auto expect_kept = [&](const jail& recipe) {
      const command_result tried = result_of(recipe, attack + "; echo x > " + two.string() + "/file; echo y > " +
                                                         other.string() + "/file; cat " + other.string() + "/file");
      EXPECT_EQ(tried.out().text(), "y\n") << tried.err().text();
      EXPECT_FALSE(base_.has("outer/a/b/one/file"));
      EXPECT_FALSE(base_.has("outer/a/b/two/file"));
    };
    expect_kept(in_jail().workspace(outer).workspace_path(top).mount_read_only(one).mount_read_only(two));
    expect_kept(in_jail().mount_writable(outer).mount_read_only(two).mount_writable(other).mount_read_only(one));
  }
  const command_result control = result_of(in_jail().mount_writable(outer), "mv " + top + "/a " + top + "/gone");
  EXPECT_TRUE(base_.has("outer/gone")) << control.err().text();
}

TEST_F(JailAttack, FS_18_no_command_begins_after_a_folder_was_moved_with_a_mount_in_it) {
  base_.make_shared_folder("a");
  const std::filesystem::path data = base_.make_shared_folder("a/data");
  const std::string top = base_.path().string();
  run([&]() -> awaitable<void> {
    auto body = [&](jail_environment& env) -> awaitable<void> {
      bool is_lost = false;
      co_await env.run_command("mv a b && mkdir -p a/data");
      try {
        co_await env.run_command("true");
      } catch (const error& failure) {
        is_lost = failure.code() == exec_errc::environment_closed;
      }
      EXPECT_TRUE(is_lost);
    };
    co_await with(in_jail().workspace_path(top).mount_read_only(data), body);
  });
}

TEST_F(JailAttack, FS_18_a_folder_whose_name_is_no_text_can_be_mounted) {
  const std::filesystem::path data = base_.make_shared_folder("a\xe9 b");
  base_.write("a\xe9 b/file", std::string(canary));
  const command_result result = result_of(in_jail().mount_read_only(data), argv("cat", data.string() + "/file"));
  EXPECT_EQ(result.out().text(), canary) << result.err().text();
}

TEST_F(JailAttack, FS_17_files_that_programs_of_the_host_obey_are_not_made_or_changed) {
  const std::string attack = R"(
mkdir -p .git/hooks .GIT/hooks .vscode
for name in .git/hooks/post-checkout .git/config .vscode/tasks.json .envrc .mcp.json conftest.py .bashrc; do
  echo evil > $name
  ln -sf /tmp/evil $name
  echo evil > made; mv -f made $name; rm -f made
done
mv .git .hidden; mv .vscode .hidden
mkdir -p .git/hooks; echo evil > .git/hooks/post-checkout
echo evil > .GIT/hooks/post-checkout; echo evil > ordinary
)";
  const auto attacked = [&](const std::string& name, const std::function<void(jail&)>& protect) {
    const std::filesystem::path project = base_.make_shared_folder(name);
    jail recipe = in_jail().workspace(project);
    protect(recipe);
    result_of(recipe, attack);
    EXPECT_EQ(base_.read(name + "/ordinary"), "evil\n") << "the attack did not reach its end";
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::recursive_directory_iterator(project))
      if (each.is_symlink() || each.is_regular_file()) names.push_back(each.path().lexically_relative(project));
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto all = [](jail& recipe) { recipe.protect_project_files().protect("conftest.py").protect(".bashrc"); };
  // Linux compares names byte by byte: .GIT is an ordinary name, which Git does not read.
  EXPECT_EQ(attacked("guarded", all), (std::vector<std::string>{".GIT/hooks/post-checkout", "ordinary"}));
  const std::vector<std::string> control = attacked("open", [](jail&) {});
  for (const char* const name : {".git/hooks/post-checkout", ".envrc", ".mcp.json", "conftest.py", ".bashrc"})
    EXPECT_NE(std::find(control.begin(), control.end(), name), control.end()) << name;
}

TEST_F(JailAttack, FS_19_a_hidden_file_is_hidden_wherever_it_is_shown) {
  const std::filesystem::path real = base_.make_shared_folder("real");
  base_.write("real/secret", std::string(canary));
  std::filesystem::create_directory_symlink(real, base_ / "link");
  const std::string look =
      "cat /workspace/secret " + (base_ / "link/secret").string() + " " + (real / "secret").string();
  const auto visible = [&](const jail& recipe) {
    return result_of(recipe, look).out().text().find(canary) != std::string::npos;
  };
  EXPECT_FALSE(visible(in_jail().mount_read_only(base_ / "link").hide(base_ / "link/secret")));
  EXPECT_FALSE(visible(in_jail().mount_read_only(base_ / "link").mount_read_only(real).hide(real / "secret")));
  EXPECT_FALSE(visible(in_jail().workspace(real).hide(real / "secret")));
  EXPECT_FALSE(visible(in_jail().workspace(real).hide("/workspace/secret")));
  EXPECT_TRUE(visible(in_jail().mount_read_only(base_ / "link")));
  EXPECT_TRUE(visible(in_jail().workspace(real)));
}

TEST_F(JailAttack, FS_20_a_file_handle_of_the_host_opens_nothing) {
  COFFERDAM_NEEDS("root", is_root(), "a control in which handles may be opened");
  const std::string secret = base_.write("secret", canary).string();
  alignas(file_handle) std::array<unsigned char, sizeof(file_handle) + 128> memory{};
  auto* const handle = reinterpret_cast<file_handle*>(memory.data());
  handle->handle_bytes = 128;
  int mount = 0;
  ASSERT_EQ(::name_to_handle_at(AT_FDCWD, secret.c_str(), handle, &mount, 0), 0);
  std::string text;
  for (std::size_t i = 0; i < sizeof(file_handle) + handle->handle_bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", memory[i]);
    text += digits;
  }
  expect_hidden(python(R"(
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
where = os.open(".", os.O_RDONLY)
fd = libc.open_by_handle_at(where, bytes.fromhex(sys.argv[1]), 0)
print(os.read(fd, 100))
)",
                       text));
}

// ---- processes ------------------------------------------------------------------------------------------------------

TEST_F(JailAttack, PR_06_processes_of_the_host_cannot_be_signalled) {
  for (const std::string signal :
       {"kill -9 ",
        "python3 -c 'import os, signal, sys; signal.pidfd_send_signal(os.pidfd_open(int(sys.argv[1])), 9)' "}) {
    const victim in_the_jail;
    result_of(in_jail(), signal + in_the_jail.pid() + "; kill -9 -1");
    EXPECT_TRUE(in_the_jail.is_alive());
    const victim of_the_control;
    result_of(unprotected(), signal + of_the_control.pid());
    EXPECT_TRUE(eventually([&] { return !of_the_control.is_alive(); }, 2s));
  }
}

TEST_F(JailAttack, PR_06_a_command_cannot_end_the_warden_and_its_siblings) {
  COFFERDAM_NEEDS("landlock", ::syscall(444, nullptr, 0, 1) >= 6, "that a command cannot signal its siblings");
  std::string text;
  run([&]() -> awaitable<void> {
    auto body = [&](auto& env) -> awaitable<void> {
      process sibling = co_await env.start("echo begun; sleep 2.625; echo finished");
      command_result attack = co_await env.run_command(
          "sleep 0.5; for p in /proc/[0-9]*; do p=${p#/proc/}; grep -aq 'slee[p].2.625' /proc/$p/cmdline && kill -9 "
          "$p; "
          "done; echo alive");
      EXPECT_EQ(attack.out().text(), "alive\n") << attack.err().text();
      command_result result = co_await sibling.wait();
      text = result.out().text();
    };
    co_await with(in_jail(), body);
    EXPECT_EQ(text, "begun\nfinished\n");
    co_await with(unprotected(), body);
    EXPECT_NE(text, "begun\nfinished\n");
    auto ends_all = [](jail_environment& env) -> awaitable<void> {
      command_result attack = co_await env.run_command(
          "kill -9 1 $PPID; kill -9 -- -1; for p in $(seq 2 200); do [ $p = $$ ] || kill -9 $p; done; echo alive");
      EXPECT_EQ(attack.out().text(), "alive\n") << attack.err().text();
      command_result after = co_await env.run_command("echo works");
      EXPECT_EQ(after.out().text(), "works\n");
    };
    co_await with(in_jail(), ends_all);
  });
}

// Without the processor, the warden could not end the commands when their host is gone.
TEST_F(JailAttack, PR_19_a_command_cannot_take_the_processor_from_the_warden) {
  const std::string begin =
      "import os, sys\n"
      "def tries(call):\n"
      "    try: call(); return 1\n"
      "    except PermissionError: return 0\n"
      "pid = int(sys.argv[1] or os.getppid())\n"
      "normal = os.sched_param(0)\n"
      "print(*map(tries, [lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, normal),\n"
      "    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)]))\n";
  const std::string more =
      "print(*map(tries, [lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),\n"
      "    lambda: os.setpriority(os.PRIO_PGRP, os.getpgrp(), 19)]))\n"
      "pid = 0\n"
      "print(*map(tries, [lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, normal),\n"
      "    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)]))\n";
  EXPECT_EQ(result_of(in_jail(), python(begin + more, "1")).out().text(), "0 0\n0 0\n1 1\n");
  EXPECT_EQ(result_of(in_jail(), python(begin + more)).out().text(), "0 0\n0 0\n1 1\n");
  const victim of_the_control;
  const local without_filter = unprotected().warden(cofferdam::warden_policy::never);
  EXPECT_EQ(result_of(without_filter, python(begin, of_the_control.pid())).out().text(), "1 1\n");
}

TEST_F(JailAttack, PR_20_a_terminal_takes_no_input_from_its_command) {
  COFFERDAM_NEEDS("root", is_root(), "a control in which TIOCSTI works");
  expect_hidden(python(R"(
import fcntl, os, sys
sys.stdout.flush()
for c in b"canary-3f9c27d1\n": fcntl.ioctl(0, 0x5412, bytes([c]))
print(os.read(0, 100))
)")
                    .terminal(24, 80));
}

// ---- the kernel -----------------------------------------------------------------------------------------------------

TEST_F(JailAttack, SY_01_processes_of_the_host_cannot_be_traced_or_read) {
  const victim of_host;
  const auto trace = [](const std::string& pid) {
    return python(R"(
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
pid = int(sys.argv[1])
print(libc.ptrace(16, pid, 0, 0))
time.sleep(1)
print(open("/proc/%d/status" % pid).read())
)",
                  pid);
  };
  const auto worked = [](const command_result& result) {
    const std::string text = result.out().text();
    return text.find("TracerPid:") != std::string::npos && text.find("TracerPid:\t0\n") == std::string::npos;
  };
  expect_held(trace(of_host.pid()), worked);
  // a child of the traced program cannot be traced either
  const command own = python(R"(
import ctypes, os
libc = ctypes.CDLL(None)
pid = os.fork()
if pid == 0: os.execvp("sleep", ["sleep", "5"])
print(libc.ptrace(16, pid, 0, 0))
print(open("/proc/%d/status" % pid).read())
)");
  expect_held(own, worked);
}

TEST_F(JailAttack, SY_02_no_new_namespaces) {
  COFFERDAM_NEEDS("x86_64", detail::native_machine() == "x86_64", "calls by the numbers of x86-64");
  const auto escapes = [this](const std::string& attack, const char* name) {
    const std::filesystem::path shared = base_.make_shared_folder(name);
    result_of(in_jail().workspace(shared), attack);
    EXPECT_FALSE(base_.has(std::string(name) + "/made")) << attack;
    result_of(unprotected().workspace(shared), attack);
    EXPECT_TRUE(base_.has(std::string(name) + "/made")) << attack;
  };
  escapes("unshare -U touch made", "user");
  escapes("unshare -r -n touch made", "net");
  escapes("unshare -r -m touch made", "mnt");
  escapes(
      "python3 -c 'import ctypes, signal; libc = ctypes.CDLL(None); pid = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, "
      "0);"
      "\nif pid == 0: open(\"made\", \"w\")'",
      "clone");
}

TEST_F(JailAttack, SY_05_SY_06_SY_07_parts_of_the_kernel_with_a_history_are_refused) {
  COFFERDAM_NEEDS("x86_64", detail::native_machine() == "x86_64", "calls by the numbers of x86-64");
  class call {
   public:
    const char* name;
    const char* code;  // creates the file `made` if the attack works
  };
  const std::vector<call> calls{
      {"keyring", "assert libc.syscall(250, 0, -3, 1) > 0"},
      {"io_uring", "assert libc.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0"},
      {"alg", "socket.socket(38, 5, 0)"},
      {"packet", "socket.socket(17, 3, 0)"},
      {"raw", "socket.socket(2, 3, 1)"},
      {"uevent", "socket.socket(16, 3, 15)"},
      {"personality", "assert libc.personality(0x0400000) >= 0"},
      {"userfaultfd", "assert libc.syscall(323, 1) >= 0"},
  };
  std::size_t shown = 0;
  for (const call& each : calls) {
    const std::filesystem::path shared = base_.make_shared_folder(each.name);
    const command attack =
        python("import ctypes, socket\nlibc = ctypes.CDLL(None)\n" + std::string(each.code) + "\nopen('made', 'w')");
    result_of(in_jail().workspace(shared), attack);
    EXPECT_FALSE(base_.has(std::string(each.name) + "/made")) << each.name;
    result_of(unprotected().workspace(shared), attack);
    if (base_.has(std::string(each.name) + "/made")) ++shown;
  }
  EXPECT_GE(shown, 4U) << "most of these calls do not work on this kernel even without the jail";
}

TEST_F(JailAttack, SY_11_the_host_sees_the_walls_around_a_command) {
  run([&]() -> awaitable<void> {
    auto body = [this](auto& env) -> awaitable<void> {
      process running = co_await env.start(argv("sleep", "4567890"));
      std::string status;
      eventually([&] {
        for (const process_entry& one : cofferdam_test::process_table())
          if (cofferdam_test::read_proc("/proc/" + std::to_string(one.pid) + "/cmdline").find("4567890") !=
              std::string::npos)
            status = cofferdam_test::read_proc("/proc/" + std::to_string(one.pid) + "/status");
        return status.find("Name:\tsleep") != std::string::npos;
      });
      seen_ = status;
      co_await running.signal(SIGKILL);
      co_await running.wait();
    };
    co_await with(in_jail(), body);
    for (const char* line :
         {"CapInh:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
          "CapBnd:\t0000000000000000\n", "CapAmb:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n"})
      EXPECT_NE(seen_.find(line), std::string::npos) << line;
    const std::size_t numbers = seen_.find("NSpid:\t");
    const std::string line = seen_.substr(numbers, seen_.find('\n', numbers) - numbers);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 2) << "no process namespace: " << line;
    EXPECT_EQ(seen_.find("Uid:\t0\t"), std::string::npos);
    co_await with(unprotected(), body);
    EXPECT_EQ(seen_.find("CapBnd:\t0000000000000000\n"), std::string::npos);
  });
}

TEST_F(JailAttack, SY_12_settings_of_the_kernel_cannot_be_written) {
  COFFERDAM_NEEDS("root", is_root(), "a control in which they can");
  const std::filesystem::path shared = base_.make_shared_folder("shared");
  const std::string attack =
      "for f in /proc/sys/vm/swappiness /proc/sys/kernel/threads-max /proc/sys/kernel/pid_max /proc/sys/kernel/shmmax "
      "/proc/sys/kernel/msgmni /proc/sys/fs/mqueue/queues_max; do (v=$(cat $f); echo $v > $f) && echo $f >> "
      "made; done; mkdir -p /sys/fs/cgroup/pids/x; echo 1 > /proc/self/uid_map";
  result_of(in_jail().workspace(shared), attack);
  EXPECT_FALSE(base_.has("shared/made"));
  result_of(unprotected().workspace(shared),
            "for f in /proc/sys/vm/swappiness; do (v=$(cat $f); echo $v > $f) && echo $f >> made; done");
  EXPECT_TRUE(base_.has("shared/made"));
}

TEST_F(JailAttack, SY_13_the_warden_cannot_be_overwritten) {
  run([&]() -> awaitable<void> {
    auto body = [](jail_environment& env) -> awaitable<void> {
      // The warden's program, and the file from which the jail started it, as the host sees them.
      const auto programs = [] {
        std::string found;
        for (const process_entry& wall : cofferdam_test::own_bubblewraps())
          for (const process_entry& each : cofferdam_test::process_table())
            if (each.parent == wall.pid)
              for (const char* const file : {"/exe", "/root/.warden"})
                found += cofferdam_test::read_proc("/proc/" + std::to_string(each.pid) + file) + "|";
        return found;
      };
      const std::string before = programs();
      EXPECT_GT(before.size(), 20'000U);
      co_await env.run_command(
          "cp -f /bin/true /.warden; cp /bin/true /proc/1/exe; cat /bin/true > /proc/$PPID/exe; rm -f /.warden; cp "
          "/bin/true /.warden; mv /tmp /.warden");
      EXPECT_EQ(programs(), before);
      command_result after = co_await env.run_command("echo works");
      EXPECT_EQ(after.out().text(), "works\n");
    };
    co_await with(in_jail(), body);
  });
}

TEST_F(JailAttack, SY_17_shared_memory_of_the_host_is_not_there) {
  const int segment = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
  ASSERT_GE(segment, 0);
  void* const mapped = ::shmat(segment, nullptr, 0);
  std::memcpy(mapped, canary.data(), canary.size());
  expect_hidden(python(R"(
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(int(sys.argv[1]), None, 0o10000)
print(ctypes.string_at(at, 15) if at < (1 << 63) else "nothing")
)",
                       std::to_string(segment)));
  ::shmdt(mapped);
  ::shmctl(segment, IPC_RMID, nullptr);
}

// The control is the same user outside of a jail.
TEST_F(JailAttack, SY_18_the_names_of_keys_of_the_host_are_not_listed) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that a key of the jail's user can be made outside");
  constexpr const char* name = "cofferdam-test-key";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    constexpr int user_keyring = -4;
    bool listed = ::setresgid(60991, 60991, 60991) == 0 && ::setresuid(60991, 60991, 60991) == 0 &&
                  ::syscall(SYS_add_key, "user", name, "x", 1, user_keyring) >= 0;
    std::ifstream keys("/proc/keys");
    const std::string text{std::istreambuf_iterator<char>(keys), {}};
    listed = listed && text.find(name) != std::string::npos;
    if (::write(ends[1], listed ? "1" : "0", 1) == 1) ::pause();
    ::_exit(0);
  }
  ::close(ends[1]);
  char is_listed_outside = '0';
  EXPECT_EQ(::read(ends[0], &is_listed_outside, 1), 1);
  ::close(ends[0]);
  EXPECT_EQ(is_listed_outside, '1');
  const command_result result = result_of(recipe(), "id -u; cat /proc/keys /proc/key-users");
  EXPECT_EQ(result.out_text(), "1000\n");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(JailAttack, SY_18_processes_and_the_name_of_the_host_are_hidden) {
  const victim of_host;
  char name[256] = {};
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  expect_held("cat /proc/" + of_host.pid() + "/comm; ls /proc", [&](const command_result& result) {
    return result.out().text().find("\n" + of_host.pid() + "\n") != std::string::npos;
  });
  expect_held("hostname",
              [&](const command_result& result) { return result.out().text() == name + std::string("\n"); });
}

// ---- network --------------------------------------------------------------------------------------------------------

TEST_F(JailAttack, NT_01_services_of_the_host_get_no_connection) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  listener service(AF_INET, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback);
  const std::string attack = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(service.port()) + "'";
  EXPECT_FALSE(result_of(in_jail(), attack).ok());
  EXPECT_FALSE(result_of(in_jail(), "timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'").ok());
  EXPECT_FALSE(result_of(in_jail(), "getent hosts example.com").ok());
  EXPECT_EQ(service.connections(), 0U);
  EXPECT_TRUE(result_of(unprotected(), attack).ok());
  EXPECT_EQ(service.connections(), 1U);
  EXPECT_TRUE(result_of(in_jail().network(network_policy::host), attack).ok());
  EXPECT_EQ(service.connections(), 2U);
}

TEST_F(JailAttack, NT_12_Unix_sockets_of_the_host_get_no_connection) {
  const std::string path = (base_ / "service.sock").string();
  const std::string abstract = "@cofferdam-" + std::to_string(::getpid());
  for (const std::string& name : {path, abstract}) {
    listener service = unix_listener(name);
    if (name == path) ::chmod(path.c_str(), 0777);
    const command attack = python(R"(
import socket, sys
name = sys.argv[1].replace("@", "\0", 1)
socket.socket(socket.AF_UNIX).connect(name)
)",
                                  name);
    EXPECT_FALSE(result_of(in_jail(), attack).ok());
    EXPECT_EQ(service.connections(), 0U) << name;
    const command_result control = result_of(unprotected(), attack);
    EXPECT_TRUE(control.ok()) << control.err().text();
    EXPECT_EQ(service.connections(), 1U) << name;
  }
}

// ---- environment ----------------------------------------------------------------------------------------------------

TEST_F(JailAttack, EN_01_variables_of_the_host_are_hidden) {
  const victim of_host;
  ::setenv("OPENAI_API_KEY", std::string(canary).c_str(), 1);
  expect_hidden("env; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'");
  ::unsetenv("OPENAI_API_KEY");
}

TEST_F(JailAttack, EN_09_the_home_of_the_host_is_not_read) {
  const std::filesystem::path home = base_.make_folder("home");
  base_.write("home/.bashrc", "echo " + std::string(canary));
  const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "/";
  ::setenv("HOME", home.c_str(), 1);
  expect_hidden("cat $HOME/.bashrc; cat " + home.string() + "/.bashrc");
  ::setenv("HOME", before.c_str(), 1);
}

}  // namespace jail_attacks
