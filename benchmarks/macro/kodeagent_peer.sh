#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# kodeagent_peer.sh FOLDER: installs kodeagent into FOLDER. python_bench finds the folder in the environment variable
# COFFERDAM_KODEAGENT_PEER. Installs only the dependencies that kodeagent's runner on the host imports, because all
# dependencies together are a hundred packages, some with models. Does nothing if this version is already installed.
# Needs Python 3.10 or newer with venv.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

kodeagent=0.14.2
wanted="kodeagent $kodeagent"
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check 'pydantic~=2.12.5' 'requests~=2.33.1' \
  'json_repair~=0.59.10' 'tenacity~=9.1.4'
"$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-deps "kodeagent==$kodeagent"
echo "$wanted" >"$folder/versions"
