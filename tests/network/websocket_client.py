# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""websocket_client.py HOST: sends a message to wss://HOST/ through the proxy that the variables name, and prints the
answer. Needs the package websockets."""
import sys

from websockets.sync.client import connect

with connect(f"wss://{sys.argv[1]}/") as connection:
    connection.send("tide")
    print(connection.recv())
