"""`parley serve` as a process that is killed and started again on the same folder and port."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
_PATIENCE = 120.0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class KilledServer:
    """A server whose process comes and goes; what all of them wrote is in ``log``."""

    def __init__(self, data: Path, log: Path, **environment: str) -> None:
        self.data = data
        self.log = log
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start a process; it serves a moment later."""
        folders = [ROOT, ROOT / "functions", ROOT / "layers/runtime", ROOT / "layers/marketer"]
        command = [sys.executable, "-m", "parley.cli", "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--data", str(self.data)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders)), **self._environment},
            )

    def wait_until_it_serves(self) -> None:
        """Wait for an answer. Fails if the process ends before."""
        assert self._process is not None
        until = time.monotonic() + _PATIENCE
        while True:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/openapi.json", timeout=5).is_success:
                    return
            assert self._process.poll() is None, self.log.read_text()[-4000:]
            assert time.monotonic() < until, self.log.read_text()[-4000:]
            threading.Event().wait(0.02)

    @property
    def pid(self) -> int:
        """Of the process that is there now."""
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL: nothing of the program runs after it."""
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()[-4000:]
        self._process.kill()
        self._process.wait()

    def refuse_writes(self) -> None:
        """From now on no file of the process may grow or be written behind its first page, as on a full disk."""
        self._limit_files(4096)

    def take_writes(self) -> None:
        """Let files be written again."""
        self._limit_files(resource.RLIM_INFINITY)

    def _limit_files(self, most: int) -> None:
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def stop(self) -> int | None:
        """SIGTERM, and its exit status; None if there is no process."""
        if self._process is None or self._process.poll() is not None:
            return None
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
