# SPDX-License-Identifier: Apache-2.0
"""Access Hadoop's file systems through a session's JVM. An operation is one py4j call for any number of files."""

from __future__ import annotations

import binascii
import contextlib
import errno
import io
import re
import struct
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException

from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.gateway import Py4JError
from bayou.storage import host_of, redact_uri

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

FILE_SYSTEMS: Final[Mapping[str, str]] = {
    "s3": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "gcs": "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
    "azure": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
}
"""Hadoop's file systems for object stores."""
_FILES: Final = "bayou.HadoopFiles"
_READS: Final = "bayou.HadoopReads"
_NOT_FOUND: Final = 1
_EXISTS: Final = 2
_TOO_LARGE: Final = 4
_THREADS: Final = 16
"""The number of files to read or delete at a time. They wait for servers, so there are more than processors."""
_ENOUGH_BYTES: Final = 64 << 20
"""The approximate size of one call's result: the JVM holds it twice, as bytes and as a string."""
_ASKED_AGAIN_AFTER: Final = timedelta(seconds=60)
_KEPT: Final = 32
"""The maximum number of cached file systems over all hosts and settings."""
_PART_BYTES: Final = 8 << 20
"""The size of the parts in which a large file is transferred."""
_BUFFER_BYTES: Final = 1 << 18
# A small file is often closed before the name node has heard of its block. HDFS retries after 0.4 s, five times with doubled
# pauses: half of all commits would wait. bayou's first retry comes after 10 ms, and the last no sooner.
_FIRST_PAUSE: Final = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
_PAUSES: Final = "dfs.client.block.write.locateFollowingBlock.retries"
_WRAPPERS: Final = ("InvocationTargetException", "RuntimeException")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+://[^\s'\",;)\]]+", re.ASCII)


class HadoopError(Exception):
    """An error of Hadoop, without its trace and without secrets.

    Attributes:
        kind: the simple name of the Java exception.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Listed:
    """A file in a listing.

    Attributes:
        name: the last part of its path.
        size: in bytes.
        modification_time: in ms since the epoch.
    """

    name: str
    size: int
    modification_time: int


class HadoopFiles:
    """The files of one of Hadoop's file systems. Paths are absolute URIs, not percent-encoded. Threads may share it.

    Calls raise FileNotFoundError if a file is missing, and HadoopError for every other failure.
    """

    _kept: WeakKeyDictionary[Jvm, OrderedDict[tuple[Any, ...], HadoopFiles]] = WeakKeyDictionary()
    _lock: Final = Lock()

    def __init__(self, files: JavaObject, reads: JavaObject) -> None:
        self._files = files
        self._reads = reads

    @classmethod
    def of(cls, jvm: Jvm, uri: str, options: Mapping[str, str]) -> HadoopFiles:
        """Return the file system of a URI under the active session's configuration. Raise HadoopError if it cannot be reached.

        It is cached by host and options, so later changes of the configuration have no effect. Hadoop caches its file systems by
        host only, so bayou has its own instance.
        """
        context = jvm.context
        key = (None if context is None else context.applicationId(), host_of(uri), *sorted(options.items()))
        with cls._lock:
            cached = cls._kept.setdefault(jvm, OrderedDict())
            if key in cached:
                cached.move_to_end(key)
                return cached[key]
        # Connect outside the lock, because it is slow. Two threads may both connect; the later one stays in the cache.
        made = cls(*_connect(jvm, uri, options))
        with cls._lock:
            cached[key] = made
            while len(cached) > _KEPT:
                cached.popitem(last=False)
        return made

    @cached_property
    def file_system_class(self) -> str:
        """The full name of the class that reads and writes."""
        return str(_guarded(lambda: self._files.system().getClass().getName()))

    @cached_property
    def file_context_class(self) -> str:
        """The full name of the class that renames."""
        return str(_guarded(lambda: self._files.context().getDefaultFileSystem().getClass().getName()))

    def has_capability(self, jvm: Jvm, uri: str, name: str) -> bool:
        """Whether a path has one of Hadoop's capabilities, such as `fs.capability.paths.acls`."""
        path = jvm.static("org.apache.hadoop.fs.Path")
        return bool(_guarded(lambda: self._files.system().hasPathCapability(path(uri), name)))

    def target(self, uri: str) -> tuple[str, str]:
        """Resolve the links of a view: return the URI of the nearest existing folder, and the file system's class."""
        real, _, name = self._text(uri, lambda: self._files.target(uri)).partition("\0")
        return real, name

    def list_from(self, folder: str, start: str) -> list[Listed]:
        """Return the files of a folder whose names are not less than `start`, in no order."""
        # Java compares UTF-16 units, which is the order of code points if one side is ASCII.
        text = self._text(folder, lambda: self._files.list(folder, start if start.isascii() else ""))
        return [file for file in _listed(text) if file.name >= start]

    def list_folders(self, folders: Sequence[str]) -> list[list[Listed]]:
        """List folders, several at a time. An entry that is a folder has the size -1.

        A missing folder is empty.
        """
        listings: list[list[Listed]] = []
        for answer in self._each("list", folders, folders):
            if isinstance(answer, FileNotFoundError):
                listings.append([])
                continue
            if isinstance(answer, Exception):
                raise answer
            listings.append(_listed(answer.decode("utf-8")))
        return listings

    def status(self, uri: str) -> Listed:
        """Return a file as in a listing."""
        size, _, time = self._text(uri, lambda: self._files.status(uri)).partition("\0")
        return Listed(uri.rpartition("/")[2], int(size), int(time))

    def size(self, uri: str) -> int:
        """Return the size of a file in bytes."""
        return self.status(uri).size

    def write(self, uri: str, data: bytes) -> None:
        """Create a file and its folders. On return, the servers that store the file have it on their disks.

        Raise FileExistsError if the file exists.
        """
        last = (len(data) - 1) // _PART_BYTES * _PART_BYTES if data else 0
        answer = stream = _asked(lambda: self._files.write(uri, data[:_PART_BYTES], last == 0))
        for at in range(_PART_BYTES, last + 1, _PART_BYTES):
            if isinstance(answer, bytes) and answer[0] != 0:  # a failure, which `_content` raises
                break
            answer = self._append(stream, data[at : at + _PART_BYTES], is_last=at == last)
        _content(uri, answer)

    def _append(self, stream: JavaObject, part: bytes, *, is_last: bool) -> bytes:
        return bytes(_asked(lambda: self._files.append(stream, part, is_last)))

    def rename(self, source: str, target: str, *, replace: bool) -> None:
        """Rename a file atomically. Raise FileExistsError if the target exists and must not be replaced."""
        self._text(source, lambda: self._files.rename(source, target, replace))

    def read(self, uri: str) -> bytes:
        """Read a whole file in one call, unless it is very large."""
        return self._whole(uri, _asked(lambda: self._reads.whole(uri)))

    def open(self, uri: str) -> io.BufferedReader:
        """Open a file to read parts of it. The caller closes it."""
        size = self.size(uri)
        stream = _asked(lambda: self._reads.open(uri))
        if isinstance(stream, bytes):
            _content(uri, stream)
        return io.BufferedReader(_Stream(uri, stream, size, self._reads), _BUFFER_BYTES)

    def read_all(self, uris: Sequence[str]) -> list[bytes | Exception]:
        """Read whole files, several at a time. The result of a failure is the exception that `read` would raise."""
        return self._each("read", uris, uris)

    def _whole(self, uri: str, answer: bytes | memoryview) -> bytes:
        if answer[0] == _TOO_LARGE:
            with self.open(uri) as file:
                return file.read()
        return bytes(_content(uri, answer))

    def footers(self, files: Sequence[tuple[str, int]]) -> list[bytes | Exception]:
        """Read the footers of Parquet files, given by URI and size, in a form that Arrow's `read_metadata` accepts.

        The result of a failure is the exception that `read` would raise.
        """
        return self._each("footer", [f"{size} {uri}" for uri, size in files], [uri for uri, _ in files])

    def delete(self, uri: str) -> bool:
        """Delete a file, and return whether it existed."""
        (answer,) = self.delete_all([uri])
        if isinstance(answer, HadoopError):
            raise answer
        return answer == b"true"

    def delete_all(self, uris: Sequence[str]) -> list[bytes | Exception]:
        """Delete files, several at a time. A result is `true` if the file existed, or an exception, but not for missing files."""
        return self._each("delete", uris, uris)

    def move_all(self, moves: Sequence[tuple[str, str]]) -> list[bytes | Exception]:
        """Rename files to new targets, several at a time, and create their folders. The result of a failure is an exception."""
        return self._each("move", [f"{source}\1{target}" for source, target in moves], [source for source, _ in moves])

    def clear(self, uri: str) -> None:
        """Delete a folder and its contents. A missing folder is not an error."""
        (answer,) = self._each("clear", [uri], [uri])
        if isinstance(answer, Exception):
            raise answer

    def _text(self, uri: str, call: Callable[[], Any]) -> str:
        return str(_content(uri, _asked(call)), "utf-8")

    def _each(self, what: str, items: Sequence[str], uris: Sequence[str]) -> list[bytes | Exception]:
        answers: list[bytes | Exception] = []
        while len(answers) < len(items):
            for answer in _answers(self._ask_each(what, "\0".join(items[len(answers) :]))):
                try:
                    answers.append(self._whole(uris[len(answers)], answer))
                except (FileNotFoundError, FileExistsError, HadoopError) as error:
                    answers.append(error)
        return answers

    def _ask_each(self, what: str, items: str) -> bytes:
        return bytes(_asked(lambda: self._reads.each(what, items, _THREADS, _ENOUGH_BYTES)))


class _Stream(io.RawIOBase):
    """A seekable stream over a file in the JVM."""

    def __init__(self, uri: str, stream: JavaObject, size: int, reads: JavaObject) -> None:
        super().__init__()
        self._uri = uri
        self._stream = stream
        self._size = size
        self._reads = reads
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "before the beginning of the file", self._uri)
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        length = max(0, min(len(buffer), self._size - self._position, _PART_BYTES))
        if length:
            try:
                answer = _asked(lambda: self._reads.read(self._stream, self._position, length))
                buffer[:length] = _content(self._uri, answer)
            except HadoopError as error:
                raise OSError(errno.EIO, str(error), redact_uri(self._uri)) from error
            self._position += length
        return length

    def readall(self) -> bytes:
        parts = []
        while part := self.read(_PART_BYTES):
            parts.append(part)
        return b"".join(parts)

    def close(self) -> None:
        if not self.closed:
            super().close()
            with contextlib.suppress(HadoopError):
                _guarded(self._stream.close)


def _listed(text: str) -> list[Listed]:
    """Parse Java's listing: name, size and modification time of each entry, each ended by NUL."""
    parts = text.split("\0")
    rows = zip(parts[0:-1:3], parts[1::3], parts[2::3], strict=True)
    return [Listed(name, int(size), int(time)) for name, size, time in rows]


def package_of(jvm: Jvm, kind: str, file_system: str) -> str:
    """Return the Maven coordinates of the package that has a file system, in the version that fits the session's Hadoop."""
    version = jvm.static("org.apache.hadoop.util.VersionInfo").getVersion()
    if file_system.startswith("org.apache.hadoop."):
        return f"org.apache.hadoop:{_PACKAGES[kind]}:{version}"
    return f"com.google.cloud.bigdataoss:gcs-connector:VERSION (a version for Hadoop {version})"


_PACKAGES: Final = {"s3": "hadoop-aws", "gcs": "hadoop-gcp", "azure": "hadoop-azure"}
"""Hadoop's packages by kind of store. Before Hadoop 3.5 it had none for Google Cloud Storage."""


def configured_file_system(jvm: Jvm, scheme: str) -> str | None:
    """Return the file system class that the application's configuration names for a scheme, or None."""
    context = jvm.context
    class_name = None if context is None else context.hadoopConfiguration().get(f"fs.{scheme}.impl")
    return None if class_name is None else str(class_name)


def set_file_system(jvm: Jvm, scheme: str, class_name: str) -> None:
    """Let a file system serve a scheme from now on, in every job of the application."""
    if jvm.context is not None:
        jvm.context.hadoopConfiguration().set(f"fs.{scheme}.impl", class_name)


def hadoop_settings(jvm: Jvm, prefix: str, secrets: Sequence[str]) -> dict[str, str]:
    """Return settings of the active session's Hadoop configuration, without Hadoop's defaults.

    Its credential providers may hold the values of `secrets`. Raise HadoopError if they cannot be read.
    """
    settings = Adapters.of(jvm).new("bayou.HadoopSettings", _configuration(jvm))
    parts = str(_guarded(lambda: settings.text(prefix, "\n".join(secrets)))).split("\0")
    return dict(zip(parts[::2], parts[1::2], strict=False))


class S3aCredentials:
    """The credentials that S3A uses, from any Java class that provides them. obstore calls it when they expire."""

    def __init__(self, jvm: Jvm, bucket: str, options: Mapping[str, str]) -> None:
        """Prepare without asking a provider. The bucket may have its own settings; `options` take precedence over the session's."""
        self._asks = Adapters.of(jvm).new("bayou.S3aCredentials")
        self._bucket = bucket
        self._options = dict(options)
        self._configuration = _configuration(jvm)
        for name, value in options.items():
            self._configuration.set(name, value)

    def __eq__(self, other: object) -> bool:
        """Whether both ask for the same bucket, under the same options."""
        return isinstance(other, S3aCredentials) and (self._bucket, self._options) == (other._bucket, other._options)

    def __hash__(self) -> int:
        return hash(self._bucket)

    def __call__(self) -> Mapping[str, Any]:
        """Return the credentials in the form of obstore. Raise HadoopError if no provider has any."""
        text = str(_guarded(lambda: self._asks.text(self._bucket, self._configuration, bool(self._options))))
        key, secret, token, expires, _ = text.split("\0")
        soon = datetime.now(timezone.utc) + _ASKED_AGAIN_AFTER
        expiry = datetime.fromtimestamp(int(expires) / 1000, timezone.utc) if expires else soon
        return {"access_key_id": key, "secret_access_key": secret, "token": token or None, "expires_at": min(soon, expiry)}


def _connect(jvm: Jvm, uri: str, options: Mapping[str, str]) -> tuple[JavaObject, JavaObject]:
    adapters = Adapters.of(jvm)
    configuration = _configuration(jvm)
    if _is_default(configuration, _FIRST_PAUSE) and _is_default(configuration, _PAUSES):
        configuration.set(_FIRST_PAUSE, "10")
        configuration.set(_PAUSES, "11")
    # Hadoop would return its cached instance for the host, which may have other settings.
    configuration.set(f"fs.{uri.partition(':')[0]}.impl.disable.cache", "true")
    for name, value in options.items():
        configuration.set(name, value)
    files = _guarded(lambda: adapters.new(_FILES, uri, configuration))
    return files, adapters.new(_READS, files)


def _is_default(configuration: JavaObject, name: str) -> bool:
    sources = configuration.getPropertySources(name)
    return sources is None or all(source == "hdfs-default.xml" for source in sources)


def _configuration(jvm: Jvm) -> JavaObject:
    context = jvm.context
    if context is None:  # a JVM without Spark
        return jvm.static("org.apache.hadoop.conf.Configuration")()
    try:
        session = jvm.static("org.apache.spark.sql.SparkSession").active()
    except Py4JError:  # without a session, use the application's settings
        return jvm.static("org.apache.hadoop.conf.Configuration")(context.hadoopConfiguration())
    return session.sessionState().newHadoopConf()


def _guarded(call: Callable[[], Any]) -> Any:
    """Run a call, and convert the errors of py4j to HadoopError."""
    try:
        return call()
    except (Py4JError, PySparkException, OSError) as error:
        java = getattr(error, "java_exception", None)
        if java is None:
            raise HadoopError(type(error).__name__, _plain(str(error) or "the JVM is not there any more")) from None
        while java.getClass().getSimpleName() in _WRAPPERS and java.getCause() is not None:
            java = java.getCause()
        raise HadoopError(java.getClass().getSimpleName(), _plain(java.getMessage() or "")) from None


def _asked(call: Callable[[], Any]) -> Any:
    """Return the bytes or the object that an adapter returns."""
    answer = _guarded(call)
    return binascii.a2b_base64(answer) if isinstance(answer, str) else answer


def _content(uri: str, answer: bytes | memoryview) -> memoryview:
    """Return the content of an adapter's answer, or raise. Its first byte is the outcome."""
    how, content = answer[0], memoryview(answer)[1:]
    if how == 0:
        return content
    if how == _NOT_FOUND:
        raise FileNotFoundError(errno.ENOENT, "no such file or folder", redact_uri(uri))
    if how == _EXISTS:
        raise FileExistsError(errno.EEXIST, "the file is there already", redact_uri(uri))
    kind, _, message = str(content, "utf-8", "replace").partition("\0")
    raise HadoopError(kind.rpartition(".")[2], _plain(message))


def _answers(data: bytes) -> Iterator[memoryview]:
    view, at = memoryview(data), 0
    while at < len(view):
        (length,) = struct.unpack_from(">i", view, at)
        yield view[at + 4 : at + 4 + length]
        at += 4 + length


def _plain(message: str) -> str:
    """Return the first line of a message of Java without secrets in URIs: a trace of the server may follow."""
    first = message.strip().partition("\n")[0].strip()
    return "" if first == "null" else _URI.sub(lambda found: redact_uri(found[0]), first)
