# SPDX-License-Identifier: Apache-2.0
"""The log store for tables in S3, Google Cloud Storage and Azure."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, TypeVar, cast

from bayou.errors import DeltaError, StorageError, failed, reason, redact_uri
from bayou.storage.object_stores.attempts import Pauses, attempt, check_process
from bayou.storage.object_stores.clients import Clients, imported
from bayou.storage.object_stores.conditional_puts import check_obeys, endpoint_to_probe
from bayou.storage.object_stores.failures import Failure, Meaning, SameObject, checked_answer
from bayou.storage.object_stores.hadoop_settings import without_session
from bayou.storage.object_stores.options import ObjectOptions
from bayou.storage.object_stores.places import ObjectPlace, place_of
from bayou.storage.object_stores.ranged_file import open_ranged
from bayou.storage.store import FileStatus
from bayou.storage.trees import Deletions, Folder, FolderBuilder, list_each

if TYPE_CHECKING:
    from bayou.storage.paths import QualifiedPath
    from bayou.storage.store import LogStore

T = TypeVar("T")

_THREADS: Final = 32
_PAGE: Final = 1000
# After every other character, so that it sorts after every key of a folder.
_LAST: Final = "\U0010ffff"
# One PUT can have 5 GiB on S3 and GCS, and 5,000 MiB on Azure. object_store does not split a conditional PUT.
_MOST_BYTES: Final = 5_000 << 20
_SPLIT_FROM: Final = 64 << 20
_NO_SUCH_RANGE: Final = 416
_BAD_REQUEST: Final = 400

_alone: Final = threading.Lock()
"""Held while a single writer looks for a file and writes it."""


def open_object_store(place: QualifiedPath, storage_options: Mapping[str, str]) -> ObjectStore:
    """Return the store of a table, as `bayou.storage.register` needs it."""
    found = place_of(place)
    given = without_session(storage_options, found, place.uri)
    return ObjectStore(place.uri, found, lambda: ObjectOptions.of(given, found.kind, redact_uri(place.uri)))


class ObjectStore:
    """See `bayou.storage.LogStore` and `bayou.storage.TreeStore`.

    A conditional PUT excludes writers. The library sends it once and does not retry it, because it would report a lost answer as
    "the object exists". This class retries, and compares the existing object with what it sent.
    """

    def __init__(self, uri: str, place: ObjectPlace, read_options: Callable[[], ObjectOptions]) -> None:
        """Create the store without sending a request.

        Args:
            uri: the table's URI.
            place: the table's location.
            read_options: reads credentials and settings: now, and again if the server reports expired credentials.

        Raises:
            MissingPackageError: obstore is not installed.
            InvalidOptionError: an option is unknown, or has a value that cannot be parsed.
        """
        self._uri = uri
        self._place = place
        self._obstore = imported(place)
        self._read_options = read_options
        self._clients = self._made()
        self._renewing = threading.Lock()
        self._sleep: Callable[[float], None] = time.sleep
        self._web_page: Failure | None = None
        self._probed = endpoint_to_probe(place, self._options.store)
        if self._options.single_writer:
            warnings.warn(
                f"{redact_uri(uri)} is written without conditional requests, as single_writer asks: a second program that "
                "writes it would overwrite commits of this one.",
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return f"ObjectStore({redact_uri(self._uri)!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"The store of {redact_uri(self._uri)} cannot be pickled, because it holds credentials. "
            "Open the table again in the other process: bayou.open(path, storage_options=...)."
        )

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        folder, _, name = path.rpartition("/")
        prefix = self._key(folder)
        start = f"{prefix}/" if prefix else ""
        # A listing begins after the offset, but must include the name itself.
        offset = _before(start + name) if name else None
        while True:
            passed = None
            for key, entry in self._listed(prefix, offset):
                rest = key[len(start) :]
                inner, slash, _ = rest.partition("/")
                if slash and self._place.kind != "azure":
                    passed = f"{start}{inner}/{_LAST}"
                    break
                if rest and not slash and rest >= name:
                    relative = f"{folder}/{rest}" if folder else rest
                    yield FileStatus(relative, entry["size"], _milliseconds(entry), _etag(entry))
            if passed is None:
                return
            # Skip the content of a folder inside this one, whatever its size. Azure has no offsets for this.
            offset = passed

    def read(self, path: str) -> bytes:
        """See LogStore."""
        found: bytes = self._done(
            "read the file", path, lambda: checked_answer(self._obstore.get(self._client, self._key(path))).bytes().to_bytes()
        )
        return found

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        key = self._key(path)
        has_suffix_ranges = self._place.kind != "azure"  # object_store 0.14 does not support them on Azure
        is_the_same = SameObject()

        def get(start: int | None, length: int) -> tuple[bytes, int]:
            wanted = {"suffix": length} if start is None else (start, start + length)
            try:
                found = checked_answer(self._obstore.get(self._client, key, options={"range": wanted}))
            except Exception as error:
                if start is None and Failure.of(error).status == _NO_SUCH_RANGE:  # an empty file has no last bytes
                    return b"", 0
                if start is None and "non-partial response" in str(error):  # moto 5.2 answers so for an empty file
                    whole = self._obstore.get(self._client, key).bytes().to_bytes()
                    return whole, len(whole)
                raise
            return is_the_same(found).bytes().to_bytes(), found.meta["size"]

        return open_ranged(
            lambda start, length: self._done("read a part of the file", path, lambda: get(start, length)),
            lambda: self.size(path),
            has_suffix_ranges=has_suffix_ranges,
        )

    def size(self, path: str) -> int:
        """See LogStore."""
        return int(self._done("look for the file", path, lambda: self._obstore.head(self._client, self._key(path))["size"]))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore.

        Raises:
            StorageError: the store failed until the time for retries was over. The file may exist.
        """
        if len(data) > _MOST_BYTES:
            raise failed("commit-too-large", table=self._uri, file=path, size=len(data), is_refused=True)
        if self._options.single_writer:
            return self._put_alone(path, data)
        self._check_obeys()
        return self._created(path, data)

    def _check_obeys(self) -> None:
        if self._probed is not None:
            check_obeys(self._probed, self._place.bucket, self._uri, self._created, self.read, self.delete)
            self._probed = None

    def _put_alone(self, path: str, data: bytes) -> bool:
        """Create a file for a single writer: look for the file, then write it without a condition."""
        with _alone:
            if self._exists(path):
                return False
            # Sent once at a time, so that a refusal after a lost answer does not count as "nothing was written".
            return self._tried(
                "create the file",
                path,
                lambda: self._obstore.put(self._once, self._key(path), data, use_multipart=False),
                lambda: True,
                needs_object=False,
            )

    def _created(self, path: str, data: bytes) -> bool:
        key = self._key(path)
        return self._tried(
            "create the file",
            path,
            lambda: self._obstore.put(self._once, key, data, mode="create", use_multipart=False),
            lambda: self.read(path) == data,  # a commit's own id makes it unlike any other
            needs_object=False,
        )

    def _tried(
        self, doing: str, path: str, create: Callable[[], object], is_ours: Callable[[], bool], *, needs_object: bool = True
    ) -> bool:
        """Create an object unless it exists; return False if it existed.

        Args:
            doing: the action, for errors.
            path: the object.
            create: sends the request once.
            is_ours: whether the existing object comes from an earlier attempt without an answer.
            needs_object: whether it is a copy of another object.

        Raises:
            FileNotFoundError: the object to copy does not exist.
            StorageError: the store failed until the time for retries was over, or refused the request.
        """
        may_be_ours, pauses = False, self._pauses()
        while True:
            _, failure = attempt(create, self._hide)
            if failure is None:
                return True
            failure = failure if needs_object else failure.of_new_object()
            if failure.meaning is Meaning.ABSENT:
                raise FileNotFoundError(2, "There is no such object", path)
            if failure.meaning is Meaning.EXISTS:
                return may_be_ours and self._known(is_ours, path)
            if failure.meaning is not Meaning.BUSY and not failure.meaning.is_transient:
                raise failure.error(doing, self._uri, path, may_be_done=may_be_ours)
            may_be_ours |= failure.meaning is Meaning.BUSY
            if not pauses.wait(failure):
                raise pauses.over(failure, doing, self._uri, path, may_be_done=may_be_ours)

    def _known(self, is_ours: Callable[[], bool], path: str) -> bool:
        """Whether an object is ours. If that is unknown, raise an error that does not say that nothing was written."""
        try:
            return is_ours()
        except (FileNotFoundError, StorageError) as error:
            step = getattr(error, "next_step", "")
            raise failed("request-not-known", table=self._uri, file=path, reason=reason(error), next_step=step) from error

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        split = len(data) >= _SPLIT_FROM
        key = self._key(path)
        self._done(
            "write the file",
            path,
            lambda: self._obstore.put(self._client, key, data, use_multipart=split),
            needs_object=False,
        )

    def delete(self, path: str) -> None:
        """See LogStore."""
        try:
            self._done("delete the file", path, lambda: self._obstore.delete(self._client, self._key(path)))
        except FileNotFoundError:
            return

    def sync(self, paths: Iterable[str]) -> None:
        """See LogStore. Do nothing: an object is durable once it exists."""

    def local_path(self, path: str) -> str | None:  # noqa: ARG002
        """See LogStore."""
        return None

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore. One LIST for each folder of up to a thousand entries."""
        return list_each(folders, lambda folder: self._folder(folder, shown), threads=_THREADS)

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore. One request for up to a thousand files, if the store supports it."""
        wanted, failures = [], dict[str, DeltaError]()
        for path in paths:
            if any(part in {"", ".", ".."} for part in path.split("/")):
                failures[path] = failed("file-outside-table", table=self._uri, file=path)
            else:
                wanted.append(path)
        # If the store has no request for many, obstore deletes one file at a time and stops at the first that fails.
        size = _PAGE if self._place.kind == "s3" else 1
        parts = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        if parts:
            with ThreadPoolExecutor(min(_THREADS, len(parts)), thread_name_prefix="bayou-delete") as pool:
                for found in pool.map(self._deleted, parts):
                    failures |= found
        return Deletions(len(paths) - len(failures), failures)

    def copy_if_absent(self, source: LogStore, source_path: str, path: str) -> bool | None:
        """See CopyingStore. The server copies within a bucket."""
        if self._options.single_writer or not (isinstance(source, ObjectStore) and self._shares_bucket(source)):
            return None
        if any("customer_key" in name for name in self._options.store):
            return None  # object_store 0.14 does not send the key for the source, which the server needs to read it
        self._check_obeys()
        # A server may obey the condition of a PUT, but not that of a copy.
        try:
            if self._exists(path):
                return False
        except StorageError as error:
            error.facts["is_refused"] = True  # no request was sent that makes a copy
            raise
        key = source._key(source_path)  # noqa: SLF001  (of this class)
        try:
            return self._tried(
                "copy the file",
                path,
                lambda: self._obstore.copy(self._once, key, self._key(path), overwrite=False),
                lambda: self.size(path) == source.size(source_path),
            )
        except StorageError as error:
            if error.facts.get("is_unsupported"):
                return None
            raise

    def _exists(self, path: str) -> bool:
        try:
            self.size(path)
        except FileNotFoundError:
            return False
        return True

    def _shares_bucket(self, other: ObjectStore) -> bool:
        mine, its = self._place, other._place
        same_place = (mine.kind, mine.bucket, mine.account) == (its.kind, its.bucket, its.account)
        return same_place and self._options == other._options

    def _deleted(self, paths: Sequence[str]) -> dict[str, DeltaError]:
        keys = [self._key(path) for path in paths]
        try:
            self._done("delete files", None, lambda: self._obstore.delete(self._client, keys))
        except (FileNotFoundError, StorageError) as error:
            # The library names only the first file that failed.
            if len(paths) == 1:
                return {} if isinstance(error, FileNotFoundError) else {paths[0]: error}
            if isinstance(error, StorageError) and not _may_be_of_one(error):
                return dict.fromkeys(paths, error)
            half = len(paths) // 2
            return self._deleted(paths[:half]) | self._deleted(paths[half:])
        return {}

    def _folder(self, path: str, shown: tuple[str, ...]) -> Folder:
        prefix = self._key(path)
        found = self._done("list the folder", path, lambda: self._obstore.list_with_delimiter(self._client, prefix or None))
        self._check_empty(is_empty=not (found["common_prefixes"] or found["objects"]))
        start = len(prefix) + 1 if prefix else 0
        folder = FolderBuilder(path, shown)
        # Folders have no modification time here. They count as new and are left alone: an empty one does not exist.
        now = int(time.time() * 1000)
        for each in found["common_prefixes"]:
            folder.add(each[start:].rstrip("/"), 0, now, is_folder=True)
        for entry in found["objects"]:
            name = entry["path"][start:]
            if name:  # the mark that some programs leave for the folder itself
                folder.add(name, entry["size"], _milliseconds(entry), is_folder=False)
        return folder.build()

    def _listed(self, prefix: str, offset: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the objects below a prefix and after a key, in the order of their keys. Pages are requested as needed."""
        last, pauses = offset, self._pauses()
        while True:
            pages = iter(self._obstore.list(self._client, prefix or None, offset=last, chunk_size=_PAGE))
            while True:
                page, failure = attempt(lambda pages=pages: next(pages, None), self._hide)  # type: ignore[misc]
                if failure is not None:
                    if not failure.meaning.is_transient:
                        raise failure.error("list the folder", self._uri, None)
                    if not pauses.wait(failure):
                        raise pauses.over(failure, "list the folder", self._uri, None)
                    break  # a failed listing yields no further page: start another one after the last key
                if page is None:
                    self._check_empty(is_empty=last == offset)
                    return
                for entry in page:
                    key = entry["path"]
                    if last is None or key > last:  # azurite and OneLake start again, whatever the offset is
                        last = key
                        yield key, entry

    def _check_empty(self, *, is_empty: bool) -> None:
        """Raise StorageError for an empty listing if the server answers with web pages, which the library lists as nothing."""
        if is_empty and self._web_page is not None:
            raise self._web_page.error("list the folder", self._uri, None)

    def _done(self, doing: str, path: str | None, request: Callable[[], T], *, needs_object: bool = True) -> T:
        """Send a request that may be retried.

        Raises:
            FileNotFoundError: the object does not exist.
            StorageError: the request failed.
        """
        pauses = self._pauses()
        while True:
            found, failure = attempt(request, self._hide)
            if failure is None:
                return cast("T", found)
            failure = failure if needs_object else failure.of_new_object()
            if failure.meaning is Meaning.ABSENT:
                raise FileNotFoundError(2, "There is no such object", path)
            if not failure.meaning.is_transient:
                self._web_page = failure if failure.is_web_page else self._web_page
                raise failure.error(doing, self._uri, path)
            if not pauses.wait(failure):
                raise pauses.over(failure, doing, self._uri, path)

    def _pauses(self) -> Pauses:
        check_process(redact_uri(self._uri))
        options = self._options
        renew = partial(self._renew, self._clients)
        return Pauses(options.retry_timeout.total_seconds(), options.max_retries, self._sleep, renew)

    def _key(self, path: str) -> str:
        prefix = self._place.prefix
        return f"{prefix}/{path}" if prefix and path else prefix or path

    @property
    def _options(self) -> ObjectOptions:
        return self._clients.options

    @property
    def _client(self) -> Any:
        return self._clients.usual

    @property
    def _once(self) -> Any:
        return self._clients.once

    def _hide(self, text: str) -> str:
        return self._clients.secrets.hide(text)

    def _made(self) -> Clients:
        return Clients(self._obstore, self._place, self._read_options(), self._uri)

    def _renew(self, expired: Clients) -> None:
        """Read the credentials again, unless another thread has done so since.

        Raises:
            StorageError: new ones cannot be read. Another error would end a commit and claim that nothing was written, although an
                earlier attempt without an answer may have written it.
        """
        with self._renewing:
            if self._clients is not expired:
                return
            try:
                self._clients = self._made()
            except StorageError:
                raise
            except DeltaError as error:
                step = error.next_step
                raise failed("credentials-expired", table=self._uri, reason=reason(error), next_step=step) from error


def _may_be_of_one(error: StorageError) -> bool:
    """Whether a request for many objects failed because of one: by its answer for that one, or by an invalid key."""
    status = error.facts.get("status")
    return status == _BAD_REQUEST if status is not None else error.facts.get("code") is not None


def _before(key: str) -> str:
    """Return a string shortly before a key, so that a listing after it begins with the key."""
    # Not a slash, which would end a folder, and not a surrogate, which is not a character.
    lower = {"0": ".", "\ue000": "\ud7ff"}.get(key[-1], chr(ord(key[-1]) - 1))
    return key[:-1] if lower < " " else key[:-1] + lower + _LAST


def _milliseconds(entry: Mapping[str, Any]) -> int:
    return int(entry["last_modified"].timestamp() * 1000)


def _etag(entry: Mapping[str, Any]) -> str | None:
    found = entry.get("e_tag")
    return None if found is None else str(found)
