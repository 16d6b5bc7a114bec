# SPDX-License-Identifier: Apache-2.0
"""A stock Spark Connect server on this machine: started from a PySpark installation, with no JAR, plugin or setting of bayou."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

SERVER_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
STARTED: Final = "Spark Connect server started at"
_ON_DEATH_OF_PARENT: Final = 1  # PR_SET_PDEATHSIG
SECONDS: Final = 180
"""A server that has not answered after so long has failed to start."""

# What a client sets in its own process. A server that inherits it would try to be a client.
_OF_CLIENTS = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
# Less work for the compiler and the garbage collector of a JVM that lives for minutes. The zone is that of the other tests.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC -Duser.timezone=UTC"
_SETTINGS = {
    "spark.driver.extraJavaOptions": _JAVA_OPTIONS,
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}


class ConnectServer:
    """A server in a process of its own. As a context manager it starts on entry and stops on exit.

    Attributes:
        port: the port of 127.0.0.1 that it listens on.
        url: its address for `SparkSession.builder.remote`.
        folder: its working folder, with the warehouse. It is deleted when the server stops.
        log: the file with everything that it printed.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        python: str = sys.executable,
        master: str = "local[2]",
        command_prefix: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a server; `start` starts it.

        Args:
            settings: Spark settings in addition to the port, the master and the warehouse, or instead of them.
            python: the Python whose PySpark is started. Its workers use this Python too.
            master: where its jobs run.
            command_prefix: a command that runs the server's command, such as `unshare`.
            environment: further environment variables of its process.
        """
        self._settings = dict(settings or {})
        self._python = python
        self._master = master
        self._prefix = command_prefix
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="bayou-connect-"))
        self.log = self.folder / "server.log"
        self.port = _free_port()
        self.url = f"sc://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> Self:
        """Start the server and wait until it accepts requests.

        Raises:
            RuntimeError: it ended, or did not answer in time. The text ends with the last lines of its log.
        """
        home = _spark_home(self._python)
        settings = {
            **_SETTINGS,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            **self._settings,
        }
        submit = [str(home / "bin" / "spark-submit"), "--class", SERVER_CLASS, "--master", self._master]
        submit += ["--name", "Spark Connect server"]
        for name, value in settings.items():
            submit += ["--conf", f"{name}={value}"]
        inherited = {name: value for name, value in os.environ.items() if name not in _OF_CLIENTS}
        python = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": self._python, "PYSPARK_DRIVER_PYTHON": self._python}
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [*self._prefix, *submit],
                cwd=self.folder,
                env={**inherited, **python, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509  (it takes no lock)
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the process with everything that it started, and delete its folder."""
        if self._process is not None:
            _end(self._process)
            self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """End the process without giving it time, as a crash does. The folder stays until `stop`."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            if STARTED in self.log.read_text(errors="replace") or _listens(self.port):
                return
            time.sleep(0.1)
        lines = self.log.read_text(errors="replace").splitlines()[-30:]
        raise RuntimeError("the Spark Connect server did not start:\n" + "\n".join(lines))


def _end_with_parent() -> None:
    """End this process when the thread that started it ends, also if that one was killed and stops nothing."""
    ctypes.CDLL(None).prctl(_ON_DEATH_OF_PARENT, signal.SIGTERM)


def _spark_home(python: str) -> Path:
    """The folder with the scripts and JARs of the PySpark that a Python imports."""
    code = "import importlib.util; print(importlib.util.find_spec('pyspark').origin)"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return Path(found).parent


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the group of processes: Python workers of the server end with it."""
    for kind, seconds in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
        if process.poll() is not None:
            return
        os.killpg(process.pid, kind)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
