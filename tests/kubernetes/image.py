#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Writes an image of one layer, in the format of `docker save`, for `ctr images import`.

    tests/kubernetes/image.py NAME LAYER.tar OUTPUT.tar WORD...

WORD... is the default command.
"""
import hashlib
import io
import json
import platform
import sys
import tarfile


def main():
    name, layer, output, *command = sys.argv[1:]
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    with open(layer, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    config = json.dumps({
        "architecture": machine,
        "os": "linux",
        "config": {
            "Cmd": command,
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "WorkingDir": "/"
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
    }).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(output, "w") as archive:
        for member, content in ((config_name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(member)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        archive.add(layer, "layer.tar")


main()
