#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# A compiler for matrix.sh --self-test: succeeds, and its program prints nothing.
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then printf '#!/bin/sh\n' >"$2" && chmod +x "$2"; fi
  shift
done
