# SPDX-License-Identifier: Apache-2.0
"""A server in a mount namespace of its own, as on another machine: it sees other folders under the client's paths."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.connect_server import ConnectServer

import bayou
import bayou.testing.table_builder
from bayou.errors import SessionError
from bayou.spark.portable.scratch.scratch import SETTING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

Options = dict[str, str]
UNSHARE = ("unshare", "--mount", "--map-root-user")


def can_unshare() -> bool:
    """Whether this user may start a process in a mount namespace of its own."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    command = [*UNSHARE, "mount", "--bind", "/tmp", "/mnt"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_unshare(), reason="this machine does not allow mount namespaces")


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """`hidden` is another, empty folder for the server; `shared` is the same for both."""
    root = tmp_path_factory.mktemp("disks")
    found = {name: root / name for name in ("hidden", "of_server", "shared", "elsewhere")}
    for folder in found.values():
        folder.mkdir()
    return found


@pytest.fixture(scope="module")
def far(disks: Mapping[str, Path], s3_settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session on a server that sees `of_server` as `hidden`, has the client's temporary folder under no path, and has S3."""
    from pyspark.sql import SparkSession

    mount = f'mount --bind {disks["of_server"]} {disks["hidden"]}; mount --bind {disks["shared"]} {disks["elsewhere"]}; exec "$@"'
    with ConnectServer(s3_settings, command_prefix=(*UNSHARE, "sh", "-c", mount, "server")) as started:
        session = SparkSession.builder.remote(started.url).config("spark.sql.session.timeZone", "UTC").create()
        yield bayou.enable(session)
        session.stop()


@pytest.fixture(autouse=True)
def temporary_folder(disks: Mapping[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's temporary folder is one that the server does not see."""
    from bayou.spark.portable.scratch import scratch

    own = disks["hidden"] / "temporary"
    own.mkdir(exist_ok=True)
    monkeypatch.setattr(scratch, "_temporary_folder", lambda _: str(own))


def test_a_write_to_a_folder_that_the_server_has_elsewhere_is_refused(far: SparkSession, disks: Mapping[str, Path]) -> None:
    path = str(disks["hidden"] / "table")
    with pytest.raises(SessionError, match=r"refused before any file was written.*Spark Connect server.*by the same path if it is"):
        far.range(5).write.format("delta").save(path)
    assert not Path(path).exists()
    assert not list(disks["of_server"].rglob("*.parquet"))


def test_a_table_that_the_server_does_not_see_is_an_error(far: SparkSession, disks: Mapping[str, Path]) -> None:
    path = str(disks["hidden"] / "read")
    bayou.testing.table_builder.TableBuilder(path).create({"id": "long"})
    with pytest.raises(SessionError, match=r"server cannot read file://.*read/_delta_log.*PATH_NOT_FOUND"):
        far.read.format("delta").load(path).collect()


def test_a_shared_folder_works(far: SparkSession, disks: Mapping[str, Path]) -> None:
    path = str(disks["shared"] / "table")
    far.range(5).write.format("delta").save(path)
    assert far.read.format("delta").load(path).count() == 5
    other = str(disks["shared"] / "other")
    far.range(5).write.format("delta").save(other)
    far.conf.set(SETTING, str(disks["hidden"] / "scratch"))
    try:
        with pytest.raises(SessionError, match=r"the Spark Connect server does not read what this process writes there"):
            far.read.format("delta").load(other).collect()
    finally:
        far.conf.unset(SETTING)


def test_a_folder_under_another_path_is_refused(far: SparkSession, disks: Mapping[str, Path]) -> None:
    """The server has the shared folder under this path, too, and the client has another one."""
    with pytest.raises(SessionError, match="refused before any file was written"):
        far.range(5).write.format("delta").save(str(disks["elsewhere"] / "table"))
    assert not list(disks["shared"].glob("table/b-*/x"))


def test_a_table_in_an_object_store_is_used_by_both(far: SparkSession, path: str, options: Options) -> None:
    far.range(10).write.format("delta").options(**options).save(path)
    table = bayou.DeltaTable.forPath(far, path, options)
    table.delete("id < 3")
    frame = far.read.format("delta").options(**options).load(path)
    assert sorted(row.id for row in frame.collect()) == list(range(3, 10))
