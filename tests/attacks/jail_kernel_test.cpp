// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.
//
// Rows SY of the catalogue of attacks: what a guest in the jail may do with the kernel. Each attack has a control in
// which it works.
#include <cofferdam/backends/jail.hpp>
#include <cofferdam/backends/local.hpp>
#include <cofferdam/core/with.hpp>

#include "support/jail_tests.hpp"
#include "support/pass_descriptor.hpp"
#include "support/require.hpp"
#include "support/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace jail_kernel_attacks {

namespace {

using namespace cofferdam;
using namespace std::chrono_literals;
using cofferdam_test::result_of;
using cofferdam_test::run;

class JailKernel : public cofferdam_test::jail_fixture {
 protected:
  /// Returns the recipe of the control, outside of the walls.
  local outside() const {
    return local().without_warning().temporary_base(base_.path()).landlock(0).tracing(tracing_policy::allowed);
  }
};

command python(const std::string& code) { return argv("python3", "-I", "-c", code).timeout(30s); }

/// Returns a program that makes system calls with invalid arguments, and prints the names of those that did not fail
/// with EPERM.
/// \param calls  lines of Python's dictionary: name and number on x86-64.
std::string calls_not_refused(const std::string& calls) {
  return "import ctypes, errno\n"
         "libc = ctypes.CDLL(None, use_errno=True)\n"
         "bad = [ctypes.c_long(-1)] * 6\n"
         "for name, number in {" +
         calls +
         "}.items():\n"
         "    ctypes.set_errno(0)\n"
         "    libc.syscall(ctypes.c_long(number), *bad)\n"
         "    if ctypes.get_errno() != errno.EPERM: print(name)\n";
}

TEST_F(JailKernel, SY_03_SY_04_calls_for_mounts_and_for_the_whole_machine_are_refused) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the numbers of the calls are those of x86-64";
#endif
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that the control can make the calls");
  const std::string mounts =
      "'mount': 165, 'fsopen': 430, 'fsmount': 432, 'move_mount': 429, 'open_tree': 428, 'mount_setattr': 442";
  const std::string machine =
      "'bpf': 321, 'perf_event_open': 298, 'userfaultfd': 323, 'init_module': 175, 'iopl': 172, 'swapon': 167, "
      "'reboot': 169, 'acct': 163, 'quotactl': 179, 'syslog': 103, 'fanotify_init': 300";
  for (const std::string& calls : {mounts, machine}) {
    const command_result held = result_of(recipe(), python(calls_not_refused(calls)));
    EXPECT_TRUE(held.ok()) << held.err_text();
    EXPECT_EQ(held.out_text(), "");
    const std::string control = result_of(outside(), python(calls_not_refused(calls))).out_text();
    EXPECT_GE(std::count(control.begin(), control.end(), '\n'), 6) << control;
  }
}

TEST_F(JailKernel, SY_09_a_program_in_memory_runs_behind_the_same_walls) {
  base_.write("secret", "canary-77a1");
  const std::string code =
      "import os\n"
      "fd = os.memfd_create('x', 0)\n"
      "os.write(fd, open('/bin/cat', 'rb').read())\n"
      "os.execve(fd, ['cat', '" +
      (base_ / "secret").string() + "'], {})\n";
  EXPECT_EQ(result_of(recipe(), python(code)).out_text(), "");
  EXPECT_EQ(result_of(outside(), python(code)).out_text(), "canary-77a1");
}

TEST_F(JailKernel, SY_10_a_setuid_program_gives_no_rights) {
  COFFERDAM_NEEDS("root", ::geteuid() == 0, "that a setuid program gives no rights");
  const std::string program = base_ / "tools/id";
  std::filesystem::create_directories(base_ / "tools");
  ASSERT_EQ(std::system(("cp /usr/bin/id " + program + " && chmod 4755 " + program).c_str()), 0);
  const jail shown = recipe().mount_read_only((base_ / "tools").string());
  EXPECT_EQ(result_of(shown, program + " -u").out_text(), "1000\n");
  EXPECT_EQ(result_of(shown, "cp " + program + " own; chmod 4755 own; ./own -u").out_text(), "1000\n");
  EXPECT_FALSE(result_of(shown, "su -c id || sudo -n id").ok());
  const std::string as_nobody = "setpriv --reuid 60991 --regid 60991 --clear-groups ";
  EXPECT_EQ(std::system((as_nobody + program + " -u | grep -qx 0").c_str()), 0);  // the control
}

// In a folder that is shared with this machine, such a file would run with the rights of the folder's owner.
TEST_F(JailKernel, SY_10_a_guest_makes_no_setuid_file_for_users_outside) {
  const std::string code =
      "import ctypes, os, platform, stat\n"
      "libc = ctypes.CDLL(None)\n"
      "os.umask(0)\n"
      "def plain(name): os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o755)); return name\n"
      "def opened(name): return os.open(plain(name), os.O_RDONLY)\n"
      "def unnamed(name, mode):\n"
      "    fd = os.open('.', os.O_TMPFILE | os.O_WRONLY, mode)\n"
      "    os.link('/proc/self/fd/%d' % fd, name, src_dir_fd=os.open('/', os.O_RDONLY), follow_symlinks=True)\n"
      "def how(mode): return (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)\n"
      "ways = {\n"
      "    'chmod': lambda n, m: os.chmod(plain(n), m),\n"
      "    'fchmod': lambda n, m: os.fchmod(opened(n), m),\n"
      "    'fchmodat': lambda n, m: os.chmod(plain(n), m, dir_fd=os.open('.', os.O_RDONLY)),\n"
      "    'fchmodat2': lambda n, m: libc.syscall(452, -100, plain(n).encode(), m, 0),\n"
      "    'mknod': lambda n, m: os.mknod(n, stat.S_IFREG | m),\n"
      "    'mknodat': lambda n, m: os.mknod(n, stat.S_IFREG | m, dir_fd=os.open('.', os.O_RDONLY)),\n"
      "    'open': lambda n, m: os.open(n, os.O_CREAT | os.O_WRONLY, m),\n"
      "    'tmpfile': unnamed,\n"
      "    'openat2': lambda n, m: libc.syscall(437, -100, n.encode(), how(m), 24),\n"
      "    'later': lambda n, m: os.rename(plain(n + '.new'), n) or os.chmod(n, m),\n"
      "}\n"
      "if platform.machine() == 'x86_64':\n"
      "    ways['creat'] = lambda n, m: libc.syscall(85, n.encode(), m)\n"
      "    ways['raw open'] = lambda n, m: libc.syscall(2, n.encode(), os.O_CREAT | os.O_WRONLY, m)\n"
      "    ways['raw mknod'] = lambda n, m: libc.syscall(133, n.encode(), stat.S_IFREG | m, 0)\n"
      "    ways['raw chmod'] = lambda n, m: libc.syscall(90, plain(n).encode(), m)\n"
      "for name, way in ways.items():\n"
      "    for mode in 0o4755, 0o2755:\n"
      "        try: way('%s %o' % (name, mode), mode)\n"
      "        except OSError: pass\n";
  const auto with_rights = [](const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
      struct stat status {};
      if (::lstat(each.path().c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) != 0)
        names.push_back(each.path().filename());
    }
    return names;
  };
  const std::filesystem::path inside = base_.make_shared_folder("inside");
  const command_result held = result_of(recipe().workspace(inside), python(code));
  EXPECT_TRUE(held.ok()) << held.err_text();
  EXPECT_EQ(with_rights(inside), std::vector<std::string>());
  EXPECT_TRUE(base_.has("inside/chmod 4755"));
  const std::filesystem::path control = base_.make_shared_folder("control");
  EXPECT_TRUE(result_of(outside().workspace(control), python(code)).ok());
  EXPECT_GE(with_rights(control).size(), 18U);
}

// A filter cannot tell a folder from a file, so the bit is refused for both. The documentation names ways around that.
TEST_F(JailKernel, SY_10_in_a_workspace_with_setgid_the_documented_commands_work) {
  const std::filesystem::path folder = base_.make_shared_folder("ws");
  const gid_t group = ::geteuid() == 0 ? 60991 : ::getegid();
  ASSERT_EQ(::chown(folder.c_str(), ::geteuid() == 0 ? 60991 : ::geteuid(), group), 0);
  ASSERT_EQ(::chmod(folder.c_str(), 02775), 0);
  const jail shared = recipe().workspace(folder);
  EXPECT_TRUE(result_of(shared, "mkdir -p a/b && echo text > a/b/file && tar cf a.tar a && chmod 644 a/b/file").ok());
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a/b").c_str(), &status), 0);
  EXPECT_NE(status.st_mode & S_ISGID, 0U);  // the kernel inherits the bit
  EXPECT_EQ(status.st_gid, group);
  for (const char* refused : {"chmod 755 a", "cp -a a copy1", "mkdir kept && tar xpf a.tar -C kept"})
    EXPECT_FALSE(result_of(shared, refused).ok()) << refused;
  for (const char* works : {"chmod 00755 a", "cp -r a copy2", "mkdir out && tar xf a.tar -C out"}) {
    const command_result result = result_of(shared, works);
    EXPECT_TRUE(result.ok()) << works << ": " << result.err_text();
  }
}

TEST_F(JailKernel, SY_14_a_guest_has_no_descriptor_of_a_folder) {
  const std::string shows =
      "python3 -c 'import os\n"
      "for fd in os.listdir(\"/proc/self/fd\"):\n"
      "    try:\n"
      "        if os.path.isdir(\"/proc/self/fd/\" + fd) and os.readlink(\"/proc/self/fd/\" + fd)[:6] != \"/proc/\":\n"
      "            print(\"folder\", fd)\n"
      "    except OSError: pass'";
  EXPECT_EQ(result_of(recipe(), shows).out_text(), "");
  EXPECT_EQ(result_of(recipe(), "exec 9</; " + shows).out_text(), "folder 9\n");  // the control: the search finds one
}

TEST_F(JailKernel, SY_16_tricks_with_the_process_itself_do_not_leave_the_walls) {
  const std::string code =
      "import ctypes, os\n"
      "libc = ctypes.CDLL(None, use_errno=True)\n"
      "os.mkdir('d')\n"
      "top = os.open('.', os.O_RDONLY)\n"
      "try:\n"
      "    os.chroot('d'); os.fchdir(top)\n"
      "    print('chroot')\n"
      "except OSError: pass\n"
      "if libc.personality(0x0400000) != -1: print('personality')\n";  // READ_IMPLIES_EXEC
  EXPECT_EQ(result_of(recipe(), python(code)).out_text(), "");
  const std::string control = result_of(outside(), python(code)).out_text();
  EXPECT_NE(control.find("personality"), std::string::npos) << control;
  if (::geteuid() == 0) {
    EXPECT_NE(control.find("chroot"), std::string::npos) << control;
  }
}

TEST_F(JailKernel, SY_21_programs_of_every_day_run_as_outside) {
  base_.write("src/a.c", "#include <stdio.h>\nint main(void) { puts(\"built\"); }\n");
  const std::string source = base_ / "src/a.c";
  const std::vector<std::pair<std::string, std::string>> uses{
      {"bash", "x=(1 2 3); for ((i = 0; i < 3; ++i)); do echo ${x[i]}; done | sort -r; cat <(echo sub)"},
      {"python3",
       "python3 -c 'import subprocess, threading, multiprocessing as m\n"
       "t = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n"
       "with m.get_context(\"fork\").Pool(2) as p: print(p.map(abs, [-1, -2]))'"},
      {"gcc", "gcc " + source + " -o a && ./a"},
      {"g++", "g++ -x c++ " + source + " -o b && ./b"},
      {"git",
       "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git log "
       "--format=%s"},
      {"node", "node -e 'new Worker; ' 2>/dev/null; node -e 'console.log([1, 2].map(x => x * 2))'"},
      {"java",
       "printf 'class A { public static void main(String[] a) { System.out.println(\"j\"); } }' > A.java && java "
       "A.java"},
      {"go",
       "mkdir g && cd g && printf 'package main\\nfunc main() { println(\"g\") }\\n' > m.go && GOCACHE=$PWD/c go "
       "run m.go 2>&1"},
      {"cargo", "cargo new -q c --vcs none && cd c && cargo run -q"},
      {"pip", "python3 -m pip --version | cut -d' ' -f1"},
      {"tar",
       "mkdir -p t/a && echo x > t/a/f && chmod 750 t/a && tar cf t.tar t && rm -r t && tar xpf t.tar && stat -c %a "
       "t/a "
       "t/a/f && tar --mode=6755 -cf s.tar t/a/f && tar xf s.tar --no-same-permissions && echo extracted"},
      {"cp", "echo x > a && chmod 640 a && cp -p a b && cp -a b c && stat -c %a a b c && cp /usr/bin/su . && ls su"},
      {"install", "echo x > a && install -m 755 a b && install -d -m 750 c && stat -c %a b c"},
      {"npm",
       "mkdir p && echo '{\"name\":\"p\",\"version\":\"1.0.0\",\"bin\":\"x.js\"}' > p/package.json && echo > p/x.js && "
       "npm_config_cache=$PWD/k npm install --offline --no-audit --no-fund ./p >&2 && ls node_modules/.bin"},
      {"dpkg-deb",
       "mkdir -p d/DEBIAN d/opt && printf 'Package: d\\nVersion: 1\\nArchitecture: all\\nMaintainer: a\\nDescription: "
       "d\\n' > d/DEBIAN/control && dpkg-deb -b d >&2 && dpkg-deb -x d.deb out && ls out"},
  };
  const jail shown = recipe().mount_read_only((base_ / "src").string());
  int compared = 0;
  for (const auto& [tool, line] : uses) {
    if (std::system(("command -v " + tool + " | grep -q ^/usr/").c_str()) != 0) continue;
    const command_result inside = result_of(shown, command(line).timeout(120s));
    const command_result control = result_of(outside(), command(line).timeout(120s));
    EXPECT_EQ(inside.out_text(), control.out_text()) << tool << ": " << inside.err_text();
    EXPECT_EQ(inside.exit_code(), control.exit_code()) << tool << ": " << inside.err_text();
    ++compared;
  }
  EXPECT_GE(compared, 4);
}

// ---- network --------------------------------------------------------------------------------------------------------

TEST_F(JailKernel, NT_11_a_program_that_ignores_proxies_has_no_way_out_either) {
  const std::string code =
      "import socket\n"
      "for kind, where in ((socket.SOCK_STREAM, ('192.0.2.1', 80)), (socket.SOCK_DGRAM, ('192.0.2.1', 53))):\n"
      "    s = socket.socket(socket.AF_INET, kind); s.settimeout(2)\n"
      "    try:\n"
      "        s.connect(where); s.send(b'x'); print('sent')\n"
      "    except OSError as failure: print(failure.errno)\n";
  EXPECT_EQ(result_of(recipe(), python(code)).out_text(), "101\n101\n");                                // ENETUNREACH
  EXPECT_NE(result_of(recipe().network(network_policy::host), python(code)).out_text(), "101\n101\n");  // the control
}

/// A Unix socket of the host, by path and by abstract name, that passes an open file to each client.
class generous_sockets {
 public:
  /// \param path  of the socket, and of the abstract name; at most 100 bytes.
  /// \param file  the file that clients get.
  generous_sockets(const std::string& path, const std::string& file) : file_(::open(file.c_str(), O_RDONLY)) {
    for (const std::size_t abstract : {0U, 1U}) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path.copy(address.sun_path + abstract, sizeof address.sun_path - 2);
      listeners_[abstract] = ::socket(AF_UNIX, SOCK_STREAM, 0);
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + abstract + path.size());
      EXPECT_EQ(::bind(listeners_[abstract], reinterpret_cast<sockaddr*>(&address), size), 0);
      EXPECT_EQ(::listen(listeners_[abstract], 4), 0);
      servers_[abstract] = std::thread([this, abstract] { serve(listeners_[abstract]); });
    }
    ::chmod(path.c_str(), 0777);
  }
  generous_sockets(const generous_sockets&) = delete;
  generous_sockets& operator=(const generous_sockets&) = delete;
  ~generous_sockets() {
    for (const int each : listeners_) ::shutdown(each, SHUT_RDWR);
    for (std::thread& each : servers_) each.join();
    for (const int each : listeners_) ::close(each);
    ::close(file_);
  }

 private:
  void serve(int listener) const {
    for (int client = -1; (client = ::accept(listener, nullptr, nullptr)) >= 0; ::close(client))
      cofferdam_test::pass_descriptor(client, file_);
  }

  int file_;
  int listeners_[2] = {-1, -1};
  std::thread servers_[2];
};

TEST_F(JailKernel, NT_13_no_descriptor_comes_in_through_a_socket_of_the_host) {
  std::ofstream(base_ / "secret") << "secret";
  const std::string path = base_ / "socket";
  const generous_sockets host(path, base_ / "secret");
  const std::string code =
      "import array, os, socket\n"
      "for name in ('" +
      path + "', '\\0" + path +
      "'):\n"
      "    client = socket.socket(socket.AF_UNIX)\n"
      "    client.settimeout(10)\n"
      "    try: client.connect(name)\n"
      "    except OSError: print('none'); continue\n"
      "    rights = client.recvmsg(1, socket.CMSG_SPACE(4))[1]\n"
      "    print(os.pread(array.array('i', rights[0][2])[0], 9, 0).decode())\n";
  EXPECT_EQ(result_of(recipe(), python(code)).out_text(), "none\nnone\n");
  EXPECT_EQ(result_of(outside(), python(code)).out_text(), "secret\nsecret\n");  // the control
}

TEST_F(JailKernel, NT_13_a_socketpair_works) {
  const std::string code =
      "import socket\n"
      "a, b = socket.socketpair(); a.send(b'in'); print(b.recv(9).decode())\n";
  EXPECT_EQ(result_of(recipe(), python(code)).out_text(), "in\n");
}

TEST_F(JailKernel, NT_14_a_port_that_a_guest_listens_on_is_not_reached_from_outside) {
  const auto reaches = [&](const auto& provider) {
    return run([&]() -> awaitable<bool> {
      bool is_reached = false;
      auto body = [&](auto& env) -> awaitable<void> {
        process server =
            co_await env.start(python("import socket, time\n"
                                      "s = socket.create_server(('127.0.0.1', 0))\n"
                                      "print(s.getsockname()[1], flush=True)\n"
                                      "time.sleep(20)\n"));
        const auto line = co_await server.read();
        const int port = line ? std::atoi(std::string(as_text(line.data())).c_str()) : 0;
        const int client = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        is_reached = port != 0 && ::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        ::close(client);
        co_await server.signal(SIGKILL);
      };
      co_await with(provider, std::ref(body));
      co_return is_reached;
    });
  };
  EXPECT_FALSE(reaches(recipe()));
  EXPECT_TRUE(reaches(recipe().network(network_policy::host)));  // the control
}

}  // namespace

}  // namespace jail_kernel_attacks
