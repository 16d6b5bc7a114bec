# SPDX-License-Identifier: Apache-2.0
"""A real HDFS of one name node and one data node, in a JVM of its own; and Hadoop's client in a JVM without Spark."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JARS = Path(pyspark.__file__).parent / "jars"
# Less than Hadoop's default, so that a few hundred files are a listing of several pages.
LISTED_AT_ONCE = 100
_SMALL = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"]
HADOOP = [
    jar
    for name in ("hadoop-client-*", "slf4j-api-*", "commons-logging-*", "jcl-over-slf4j-*", "log4j-*", "py4j-*")
    for jar in JARS.glob(f"{name}.jar")
]


@contextlib.contextmanager
def gateway(class_path: Iterable[Path | str], heap: str) -> Iterator[JavaGateway]:
    """A JVM that py4j drives. It ends with this process, or with the block."""
    port, token, process = launch_gateway(
        jarpath=str(next(JARS.glob("py4j-*.jar"))),
        classpath=":".join(map(str, class_path)),
        javaopts=[f"-Xmx{heap}", *_SMALL],
        die_on_exit=True,
        enable_auth=True,
        redirect_stderr=subprocess.DEVNULL,
        return_proc=True,
    )
    connection = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield connection
    finally:
        connection.close()
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=60)


class Hdfs:
    """A running cluster.

    Attributes:
        uri: its root, without a slash at the end.
        files: its own `DistributedFileSystem`, in the cluster's JVM.
    """

    def __init__(self, connection: JavaGateway, cluster: Any) -> None:
        self.uri = cluster.getURI().toString().rstrip("/")
        self.files = cluster.getFileSystem()
        self._jvm = connection.jvm
        self._name_node = cluster.getNameNode()

    def path(self, uri: str) -> Any:
        """Java's path of a URI."""
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    def names(self, uri: str) -> list[str]:
        """Every name in a folder, hidden ones and folders among them."""
        return sorted(status.getPath().getName() for status in self.files.listStatus(self.path(uri)))

    @contextlib.contextmanager
    def safe_mode(self) -> Iterator[None]:
        """The name node takes no change in the block."""
        control = self._jvm.org.apache.hadoop.hdfs.server.namenode.NameNodeAdapter
        control.enterSafeMode(self._name_node, False)
        try:
            yield
        finally:
            control.leaveSafeMode(self._name_node)


@contextlib.contextmanager
def start(jar: Path, folder: Path) -> Iterator[Hdfs]:
    """A cluster with its disks in a folder.

    Args:
        jar: Hadoop's `hadoop-client-minicluster`, in PySpark's version of Hadoop.
        folder: where its disks are.
    """
    with gateway([jar, *HADOOP], "384m") as connection:
        jvm = connection.jvm
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        configuration.set("dfs.ls.limit", str(LISTED_AT_ONCE))
        builder = getattr(jvm.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")
        cluster = builder(configuration, jvm.java.io.File(str(folder))).numDataNodes(1).build()
        try:
            cluster.waitActive()
            yield Hdfs(connection, cluster)
        finally:
            cluster.shutdown()
