# SPDX-License-Identifier: Apache-2.0
"""A proxy for Kafka that swallows the answer to a Produce request, and ends its connection."""

import socket
import struct
import threading
from contextlib import suppress

PRODUCE = 0


def frame(source: socket.socket) -> bytes | None:
    """One request or answer with its length; None at the end."""
    data = b""
    wanted = 4
    while len(data) < wanted:
        more = source.recv(wanted - len(data))
        if not more:
            return None
        data += more
        if len(data) == 4 and wanted == 4:
            wanted += struct.unpack(">i", data)[0]
    return data


class Cutter:
    """The broker advertises `address` and listens on the port `target`, set before clients come."""

    def __init__(self):
        self.target = 0
        self.cuts = 0
        self.armed = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def cut_next_produce(self) -> None:
        self.armed.set()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            Connection(self, client)


class Connection:
    def __init__(self, cutter: Cutter, client: socket.socket):
        self.cutter = cutter
        self.client = client
        self.broker = socket.create_connection(("127.0.0.1", cutter.target))
        self.requests = 0
        self.cut_at: int | None = None  # the number of the answer that is swallowed
        for work in (self.forward_requests, self.forward_answers):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        for end in (self.client, self.broker):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def forward_requests(self) -> None:
        with suppress(OSError):
            while (request := frame(self.client)) is not None:
                self.requests += 1
                (api,) = struct.unpack_from(">h", request, 4)
                if api == PRODUCE and self.cutter.armed.is_set():
                    self.cutter.armed.clear()
                    self.cut_at = self.requests
                self.broker.sendall(request)
        self.close()

    def forward_answers(self) -> None:
        answers = 0
        with suppress(OSError):
            while (answer := frame(self.broker)) is not None:
                answers += 1
                if answers == self.cut_at:
                    self.cutter.cuts += 1
                    break
                self.client.sendall(answer)
        self.close()
