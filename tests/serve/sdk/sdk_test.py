# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Tests the gateway with E2B's official Python SDK. The SDK's own environment variables name the gateway.

Prints a line for each check: "ok NAME", or "not ok NAME: WHY".
"""
import asyncio
import os
import sys
import threading
import time
import urllib.request

from e2b import (AsyncSandbox, AuthenticationException, CommandExitException, InvalidArgumentException, NotFoundException,
                 PtySize, Sandbox, SandboxException, TimeoutException)

failed = False
CHECKS = []


def check(body):
    CHECKS.append(body)
    return body


def run(body, *args):
    global failed
    try:
        body(*args)
        print("ok " + body.__name__, flush=True)
    except BaseException as why:  # the other checks still run
        failed = True
        text = f"{type(why).__name__} {why}".replace("\n", " | ")
        print(f"not ok {body.__name__}: {text}", flush=True)


def fails(kind, pattern, work, *args, **options):
    try:
        work(*args, **options)
    except kind as why:
        assert pattern in str(why), f"{why!r} says nothing of {pattern!r}"
        return why
    raise AssertionError(f"nothing was thrown; expected {kind.__name__}")


def comes_about(what):
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end, "it did not come about in 20 s"
        time.sleep(0.02)


@check
def command(box):
    result = box.commands.run("echo hello; echo wrong >&2; echo $FOO")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "hello\nbar\n", "wrong\n"), result


@check
def exit_code(box):
    why = fails(CommandExitException, "", box.commands.run, "echo out; exit 3")
    assert (why.exit_code, why.stdout) == (3, "out\n"), why


@check
def stream(box):
    heard = []
    result = box.commands.run("for i in 1 2 3; do echo $i; done", on_stdout=heard.append)
    assert result.stdout == "1\n2\n3\n" and "".join(heard) == result.stdout, heard


@check
def stdin(box):
    handle = box.commands.run("read line; echo got $line", background=True, stdin=True)
    box.commands.send_stdin(handle.pid, "it\n")
    assert handle.wait().stdout == "got it\n"


@check
def close_stdin(box):
    handle = box.commands.run("cat; echo over", background=True, stdin=True)
    box.commands.send_stdin(handle.pid, "a\n")
    box.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "a\nover\n"


@check
def stream_input(box):
    handle = box.commands.run("cat; echo over", background=True, stdin=True)
    box.commands.stream_input(handle.pid, iter([b"one,", b"two\n"]))
    box.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "one,two\nover\n"


@check
def kill_and_list(box):
    handle = box.commands.run("sleep 1000", background=True)
    assert any(one.pid == handle.pid and one.args[-1] == "sleep 1000" for one in box.commands.list())
    assert handle.kill()
    fails(CommandExitException, "", handle.wait)
    assert not box.commands.kill(4)


@check
def connect(box):
    first = box.commands.run("read line; echo got $line", background=True, stdin=True)
    first.disconnect()
    second = box.commands.connect(first.pid)
    box.commands.send_stdin(first.pid, "it\n")
    assert second.wait().stdout == "got it\n"


@check
def command_timeout(box):
    fails(TimeoutException, "", box.commands.run, "sleep 1000", timeout=0.5)


@check
def pty(box):
    terminal = box.pty.create(PtySize(rows=24, cols=80), envs={"PS1": "> "})
    box.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    box.pty.send_stdin(terminal.pid, b"stty size; echo $((6 * 7)); exit\n")
    screen = []
    terminal.wait(on_pty=lambda data: screen.append(bytes(data)))
    text = b"".join(screen).decode()
    assert "30 100" in text and "42" in text, text


@check
def files(box):
    info = box.files.write("a b/c.txt", "héllo")
    assert info.path == "/home/user/a b/c.txt", info
    assert box.files.read("/home/user/a b/c.txt") == "héllo"
    data = bytes(range(256)) * 8000
    box.files.write("data.bin", data)
    assert bytes(box.files.read("data.bin", format="bytes")) == data
    assert b"".join(box.files.read("data.bin", format="stream")) == data
    box.files.write_files([{"path": "many/1.txt", "data": "one"}, {"path": "many/2.txt", "data": b"two"}])
    assert box.files.read("many/2.txt") == "two"
    fails(NotFoundException, "does not exist", box.files.read, "none")


@check
def files_compressed_and_described(box):
    text = "again and again, " * 5000
    info = box.files.write("packed.txt", text, gzip=True, metadata={"Author": "me", "note": "a b"})
    assert info.metadata == {"author": "me", "note": "a b"}, info
    assert box.files.read("packed.txt") == text
    assert box.files.read("packed.txt", gzip=True) == text
    assert box.files.get_info("packed.txt").metadata == {"author": "me", "note": "a b"}
    box.files.write("packed.txt", "plain")
    assert not box.files.get_info("packed.txt").metadata


@check
def a_file_that_is_there_keeps_its_mode(box):
    box.files.write("run.sh", "#!/bin/sh\necho first\n")
    box.commands.run("chmod 755 run.sh; ln run.sh same")
    box.files.write("run.sh", "#!/bin/sh\necho second\n")
    assert box.commands.run("./same").stdout == "second\n"


@check
def directories(box):
    assert box.files.make_dir("d/e") and not box.files.make_dir("d/e")
    box.files.write("d/g.txt", "12345")
    assert [(one.name, one.type.value) for one in box.files.list("d")] == [("e", "dir"), ("g.txt", "file")]
    info = box.files.get_info("d/g.txt")
    assert (info.size, info.permissions) == (5, "-rw-r--r--"), info
    assert box.files.rename("d/g.txt", "d/h.txt").path == "/home/user/d/h.txt"
    assert not box.files.exists("d/g.txt") and box.files.exists("d/h.txt")
    box.files.remove("d")
    assert not box.files.exists("d")


@check
def outside_of_the_home(box):
    # Jails have walls, local folders have none. The variable is set for the gateways over places with walls.
    assert box.commands.run("pwd", cwd="/etc").stdout == "/etc\n"
    if "COFFERDAM_GATEWAY_WALLS" not in os.environ:
        fails(SandboxException, "outside /home/user", box.files.read, "/etc/passwd")
        fails(SandboxException, "outside /home/user", box.files.list, "/")
        return
    assert "root" in box.files.read("/etc/passwd")
    assert "etc" in [one.name for one in box.files.list("/")]
    box.files.write("/tmp/a/b.txt", "outside")
    assert box.files.read("/tmp/a/b.txt") == box.commands.run("cat /tmp/a/b.txt").stdout == "outside"
    assert box.files.exists("/tmp/a") and box.files.get_info("/tmp/a/b.txt").size == 7
    assert not box.files.make_dir("/tmp/a") and box.files.make_dir("/tmp/c")
    assert box.files.rename("/tmp/a/b.txt", "inside.txt").path == "/home/user/inside.txt"
    box.files.remove("/tmp/a")
    assert not box.files.exists("/tmp/a")


@check
def facts_of_files(box):
    box.files.write("facts", "x")
    box.commands.run("touch -d '2020-02-03 04:05:06 UTC' facts; ln -s facts pointer")
    info = box.files.get_info("facts")
    assert info.modified_time.isoformat() == "2020-02-03T04:05:06+00:00", info
    assert info.owner == box.commands.run("stat -c %U facts").stdout.strip().replace("UNKNOWN", info.owner), info
    assert info.group and info.size == 1 and info.mode == 0o644, info
    assert [one.symlink_target for one in box.files.list(".") if one.name == "pointer"] == ["/home/user/facts"]


@check
def watch(box):
    box.files.make_dir("watched")
    handle = box.files.watch_dir("watched", recursive=True)
    box.files.write("watched/new.txt", "x")
    seen = []
    comes_about(lambda: seen.extend(handle.get_new_events()) or any(
        one.name == "new.txt" and one.type.value == "create" for one in seen))
    handle.stop()
    fails(NotFoundException, "not found", box.files.watch_dir, "none")


@check
def watch_as_a_stream(box):
    async def body():
        other = await AsyncSandbox.connect(box.sandbox_id)
        events = []
        handle = await other.files.watch_dir("watched", on_event=lambda event: events.append(event.name))
        await other.files.write("watched/more.txt", "x")
        end = time.monotonic() + 20
        while "more.txt" not in events:
            assert time.monotonic() < end, events
            await asyncio.sleep(0.02)
        await handle.stop()

    asyncio.run(body())


@check
def asynchronous(box):
    async def body():
        other = await AsyncSandbox.connect(box.sandbox_id)
        results = await asyncio.gather(*[other.commands.run(f"echo {i}") for i in range(10)])
        assert [one.stdout for one in results] == [f"{i}\n" for i in range(10)]

    asyncio.run(body())


@check
def signed_urls(box):
    box.files.write("signed.txt", "by url")
    with urllib.request.urlopen(box.download_url("signed.txt"), timeout=20) as answer:
        assert answer.read() == b"by url"
    with urllib.request.urlopen(box.download_url("signed.txt", use_signature_expiration=1000), timeout=20) as answer:
        assert answer.read() == b"by url"


@check
def list_and_info(box):
    info = box.get_info()
    assert info.sandbox_id == box.sandbox_id and info.metadata == {"user": "a b"}, info
    pages = Sandbox.list()
    ids = []
    while pages.has_next:
        ids.extend(one.sandbox_id for one in pages.next_items())
    assert box.sandbox_id in ids


@check
def life(box):
    box.set_timeout(600)
    assert box.is_running()
    again = Sandbox.connect(box.sandbox_id)
    assert again.files.read("signed.txt") == "by url"
    assert box.get_metrics() == []
    assert box.pause() is False and box.is_running(), "what cannot be paused keeps running"
    assert box.get_host(8080).startswith(f"8080-{box.sandbox_id}.localhost:"), box.get_host(8080)
    again = Sandbox.create(idempotency_key="the-same", lifecycle={"on_timeout": "pause", "auto_resume": True})
    assert Sandbox.create(idempotency_key="the-same", lifecycle={"on_timeout": "pause", "auto_resume": True}
                          ).sandbox_id == again.sandbox_id
    assert again.kill()
    fails(AuthenticationException, "", Sandbox.create, api_key="e2b_" + "0" * 40)


@check
def killed(box):
    handle = box.commands.run("sleep 1000", background=True)
    ended = []

    def wait():
        try:
            handle.wait()
        except Exception as why:  # the type is checked below
            ended.append(why)

    waits = threading.Thread(target=wait)
    waits.start()
    assert box.kill()
    waits.join(20)
    assert ended and not waits.is_alive(), "the stream goes on"
    assert not box.is_running()
    assert not Sandbox.kill(box.sandbox_id)
    fails(Exception, "", box.commands.run, "true")


def main():
    box = Sandbox.create(timeout=300, metadata={"user": "a b"}, envs={"FOO": "bar"})
    print("ok create", flush=True)
    for body in CHECKS:
        run(body, box)
    print("some failed" if failed else "all passed", flush=True)
    return 1 if failed else 0


sys.exit(main())
