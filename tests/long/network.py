"""A network between client and scheduler that is slow, breaks or swallows what is sent."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import dask
from distributed import Client, LocalCluster

from .answers import Judge


class Proxy:
    """Passes bytes on, after a while; can be cut, or made to swallow everything."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.delay = 0.0
        self.swallows = False
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self.target)
            except OSError:
                return
            self._open += [near, far]
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                time.sleep(self.delay)
                while self.swallows:
                    time.sleep(0.5)
                target.sendall(piece)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Close every connection."""
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        """Take no more connections, and close those that there are."""
        self.swallows = False
        self._listener.close()
        self.cut()


@contextlib.contextmanager
def through_proxy(cluster: LocalCluster) -> Iterator[tuple[Client, Proxy]]:
    """Yield a client whose connection goes through a proxy."""
    host, _, port = cluster.scheduler_address.rpartition("/")[2].rpartition(":")
    proxy = Proxy((host, int(port)))
    client = Client(f"tcp://127.0.0.1:{proxy.port}", set_as_default=False, timeout=300)
    try:
        yield client, proxy
    finally:
        proxy.close()
        client.close(timeout=5)


def run() -> int:
    """Fit through every fault; return 0 where it ended well or in a clear error."""
    status = 0
    with (
        dask.config.set({"shortlist.patience": "20s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
                     memory_limit=0) as cluster,
    ):  # fmt: skip
        for fault in ("slow", "cut", "swallowed", "slow and cut"):
            judge = Judge()
            for number in range(3):
                with through_proxy(cluster) as (client, proxy):
                    client.wait_for_workers(2)
                    if "slow" in fault:
                        proxy.delay = 0.1
                    strike = {"cut": proxy.cut, "slow and cut": proxy.cut}.get(fault)
                    if fault == "swallowed":
                        strike = lambda: setattr(proxy, "swallows", True)  # noqa: E731
                    if strike is not None:
                        threading.Timer(0.3 + 0.4 * number, strike).start()
                    with dask.config.set({"distributed.comm.timeouts.connect": "10s"}):
                        judge.fit(number, client, seconds=300)
            print(f"{fault}: ", end="", flush=True)
            status |= judge.verdict()
    return status
