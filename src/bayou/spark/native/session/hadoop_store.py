# SPDX-License-Identifier: Apache-2.0
"""Store table logs on HDFS and Azure Data Lake Storage Gen2, through the Hadoop classes in a running session's JVM.

Only file systems are allowed whose rename is atomic and never replaces an existing file.
"""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from bayou.errors import DeltaError, SessionError, failed, reason, redact_text
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.session import settings_of_application
from bayou.spark.jvm.relations.hadoop import HadoopError, HadoopFiles
from bayou.storage import Deletions, FileStatus, Folder, FolderBuilder, check_spark_log_store_conf, redact_uri, register
from bayou.storage.open_store import SCHEMES_OF_A_SESSION
from bayou.storage.registry import registered_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bayou.storage import QualifiedPath

# The allowed classes by scheme: the one that reads and writes, and the one that renames. A subclass may behave differently, so the
# names are compared exactly.
_HADOOP: Final = "org.apache.hadoop"
_ALLOWED: Final[Mapping[str, tuple[str, str]]] = {
    "abfs": (f"{_HADOOP}.fs.azurebfs.AzureBlobFileSystem", f"{_HADOOP}.fs.azurebfs.Abfs"),
    "abfss": (f"{_HADOOP}.fs.azurebfs.SecureAzureBlobFileSystem", f"{_HADOOP}.fs.azurebfs.Abfss"),
    "hdfs": (f"{_HADOOP}.hdfs.DistributedFileSystem", f"{_HADOOP}.fs.Hdfs"),
    "viewfs": (f"{_HADOOP}.fs.viewfs.ViewFileSystem", f"{_HADOOP}.fs.viewfs.ViewFs"),
}
# Only an account with a hierarchical namespace has access control lists. Without such a namespace, Azure copies and deletes instead
# of renaming, which is not atomic.
_HAS_NAMESPACE: Final = "fs.capability.paths.acls"

_NOT_EMPTY: Final = "PathIsNotEmptyDirectoryException"

_NEXT_STEPS: Final[Mapping[str, str]] = {
    "AccessControlException": "Let this user read and write the table's folder.",
    "ClassNotFoundException": "Put the file system's JAR on the session's class path.",
    "ConnectException": "Start the file system, or correct the host and the port in the table's URI.",
    "DSQuotaExceededException": "Free space within the quota, or raise it.",
    "NSQuotaExceededException": "Delete files within the quota, or raise it.",
    "SafeModeException": "Wait until the name node has left its safe mode.",
    "UnknownHostException": "Correct the host in the table's URI.",
    "UnsupportedFileSystemException": "Put the file system's JAR on the session's class path.",
}


class HadoopStore:
    """The log store of a folder on HDFS, on a view of HDFS, or on Azure Data Lake Storage Gen2 with a hierarchical namespace.

    `put_if_absent` writes a hidden temporary file into the target's folder, makes the servers flush it to their disks (`hsync`),
    and renames it without permission to replace. The rename is one step of the name node or the storage service. It therefore
    excludes all other writers on any number of machines, including delta-spark with HDFSLogStore or AzureLogStore.

    If the rename fails for an unclear reason, such as a lost connection, it may still happen later on the server. The store then
    deletes the temporary file. If the file still existed, the rename can no longer happen.

    `put` renames with permission to replace. On Azure the target is missing for a moment.

    Listings read the whole folder and are consistent. A file is durable once a put has returned, on as many servers as the
    file system's settings require. `sync` does nothing: the servers of HDFS already have the closed data files, at first in
    memory unless `dfs.datanode.synconclose` is set.

    Each operation is one call into the JVM, a put two or three, with one more for each 8 MB. The session's Hadoop
    configuration applies; storage options take precedence.
    """

    def __init__(self, root: str, files: HadoopFiles) -> None:
        self._root = root
        self._files = files

    def __repr__(self) -> str:
        return f"HadoopStore({redact_uri(self._root)!r})"

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        folder, _, start = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        with self._failing(path):
            listed = self._files.list_from(self._at(folder), start)
        listed.sort(key=lambda file: file.name)
        return iter([FileStatus(prefix + file.name, file.size, file.modification_time) for file in listed])

    def read(self, path: str) -> bytes:
        """See LogStore.

        If another writer replaces the file during the read, HDFS removes the old blocks and the read fails. Retry the read unless
        the file is the same as at the previous failure.
        """
        failed_on = None
        with self._failing(path):
            while True:
                try:
                    return self._files.read(self._at(path))
                except HadoopError:
                    file = self._files.status(self._at(path))
                    if file == failed_on:
                        raise
                    failed_on = file

    def read_all(self, paths: Sequence[str]) -> list[bytes | Exception]:
        """Read whole files in one call. In place of a file that cannot be read, return the exception that `read` would raise."""
        with self._failing(""):
            answers = self._files.read_all([self._at(path) for path in paths])
        named = zip(paths, answers, strict=True)
        return [self._failed(path, each) if isinstance(each, HadoopError) else each for path, each in named]

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        with self._failing(path):
            return cast("BinaryIO", self._files.open(self._at(path)))

    def size(self, path: str) -> int:
        """See LogStore."""
        with self._failing(path):
            return self._files.size(self._at(path))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore."""
        with self._failing(path):
            return not self._exists(path) and self._publish(path, data, replace=False)

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        with self._failing(path):
            self._publish(path, data, replace=True)

    def delete(self, path: str) -> None:
        """See LogStore."""
        with self._failing(path):
            self._files.delete(self._at(path))

    def sync(self, paths: Iterable[str]) -> None:
        """See LogStore. Do nothing."""

    def local_path(self, path: str) -> None:
        """See LogStore."""

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore. Uses one call for all folders."""
        with self._failing(""):
            listed = self._files.list_folders([self._at(folder) for folder in folders])
        result = []
        for folder, entries in zip(folders, listed, strict=True):
            builder = FolderBuilder(folder, shown)
            for entry in entries:
                builder.add(entry.name, entry.size, entry.modification_time, is_folder=entry.size < 0)
            result.append(builder.build())
        return result

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore. Uses one call for all files."""
        inside = [path for path in paths if not path.startswith("/") and ".." not in path.split("/")]
        with self._failing(""):
            answers = self._files.delete_all([self._at(path) for path in inside])
        not_deleted = {
            path: self._failed(path, each)
            for path, each in zip(inside, answers, strict=True)
            if isinstance(each, HadoopError) and each.kind != _NOT_EMPTY
        }
        for path in set(paths) - set(inside):
            not_deleted[path] = failed("file-outside-table", table=self._root, file=path)
        return Deletions(sum(each == b"true" for each in answers), not_deleted)

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _exists(self, path: str) -> bool:
        try:
            self._files.size(self._at(path))
        except FileNotFoundError:
            return False
        return True

    def _publish(self, path: str, data: bytes, *, replace: bool) -> bool:
        """Write a temporary file and rename it. Return False if another writer has created the target."""
        folder, slash, name = path.rpartition("/")
        temporary = self._at(f"{folder}{slash}.{name}.{uuid.uuid4().hex}.tmp")
        try:
            self._files.write(temporary, data)
            self._files.rename(temporary, self._at(path), replace=replace)
        except (HadoopError, OSError) as error:
            # If the temporary file still existed, it was not renamed, and after its deletion a delayed call cannot rename it.
            is_lost = self._discard(temporary) and not replace
            if is_lost and (isinstance(error, FileExistsError) or self._exists(path)):
                return False
            if isinstance(error, HadoopError):
                raise
            raise HadoopError(type(error).__name__, error.strerror or "") from error
        return True

    def _discard(self, temporary: str) -> bool:
        """Delete a temporary file, and return whether it certainly existed. If the deletion fails, the leftover is hidden."""
        with contextlib.suppress(HadoopError):
            return self._files.delete(temporary)
        return False

    @contextlib.contextmanager
    def _failing(self, path: str) -> Iterator[None]:
        """Convert Hadoop's errors in the block to StorageError about a file, or about the table if `path` is empty."""
        try:
            yield
        except HadoopError as error:
            raise self._failed(path, error) from None

    def _failed(self, path: str, error: HadoopError) -> DeltaError:
        return storage_error(error, self._root, path)


def storage_error(error: HadoopError, table: str, file: str | None = None) -> DeltaError:
    """Convert an error of Hadoop to the StorageError that a store raises."""
    return failed(
        "hadoop-failed", table=table, file=file or None, reason=redact_text(str(error)), next_step=_NEXT_STEPS.get(error.kind)
    )


def open_hadoop_store(place: QualifiedPath, storage_options: Mapping[str, str]) -> HadoopStore:
    """Return the store of a table, through the session that runs in this process.

    Raises:
        StorageError: no session runs, the file system is not allowed, or a setting of the session requires a log store that
            bayou does not honor.
    """
    jvm = Jvm.running()
    if jvm is None:
        raise failed("scheme-of-a-session", table=place.uri, scheme=place.scheme)
    check_log_store_settings(jvm, place.scheme)
    return connect(jvm, place, storage_options)


def connect(jvm: Jvm, place: QualifiedPath, storage_options: Mapping[str, str]) -> HadoopStore:
    """Return the store of a table, through a JVM, after checking that its file system is allowed."""
    try:
        files = HadoopFiles.of(jvm, place.uri, storage_options)
        _check_allowed(jvm, files, place)
    except HadoopError as error:
        raise storage_error(error, place.uri) from None
    except SessionError as error:
        raise failed("scheme-of-adapters", table=place.uri, scheme=place.scheme, reason=reason(error)) from error
    return HadoopStore(place.uri, files)


def check_log_store_settings(jvm: Jvm, scheme: str) -> None:
    """Raise StorageError if the application has `spark.delta.logStore.*` settings for a scheme that bayou does not honor.

    Like delta-spark, bayou reads the configuration of the application, and not the settings of one session.
    """
    check_spark_log_store_conf(settings_of_application(jvm), scheme=scheme)


def register_hadoop_stores() -> None:
    """Register this store for Hadoop's schemes, except for schemes with another store that the program registered."""
    for scheme in SCHEMES_OF_A_SESSION:
        if registered_name(scheme) in {None, _NAME}:
            register(scheme, _NAME, replace=True)


_NAME: Final = f"{__name__}:{open_hadoop_store.__name__}"


def _check_allowed(jvm: Jvm, files: HadoopFiles, place: QualifiedPath) -> None:
    """Raise StorageError unless the file system is known to rename atomically without replacing.

    A view must map the table's log to such a file system.
    """
    scheme = place.scheme
    allowed = _ALLOWED.get(scheme, ("", ""))
    for name, allowed_name in zip((files.file_system_class, files.file_context_class), allowed, strict=True):
        if name != allowed_name:
            raise _refused(place, name)
    if scheme == "viewfs":
        target_uri, target_class = files.target(f"{place.uri}/{LOG_FOLDER}")
        target_scheme = target_uri.partition(":")[0].lower()
        if target_scheme == "viewfs" or _ALLOWED.get(target_scheme, ("", ""))[0] != target_class:
            raise _refused(place, f"{target_class} behind the view")
    if scheme in {"abfs", "abfss"} and not files.has_capability(jvm, place.uri, _HAS_NAMESPACE):
        raise _refused(place, "an Azure account without a hierarchical namespace")


def _refused(place: QualifiedPath, system: str) -> DeltaError:
    return failed("rename-not-atomic", table=place.uri, scheme=place.scheme, system=system)
