# SPDX-License-Identifier: Apache-2.0
"""The log store for tables in S3, Google Cloud Storage and Azure, without the JVM.

It uses the package obstore, the Python interface of the Rust library object_store ("the library" below).
"""

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
# The greatest character: a folder's name with it sorts after every key in the folder.
_LAST: Final = "\U0010ffff"
# The limit of one PUT is 5 GiB on S3 and GCS, and 5,000 MiB on Azure. object_store does not split a conditional PUT.
_MOST_BYTES: Final = 5_000 << 20
_SPLIT_FROM: Final = 64 << 20
_NO_SUCH_RANGE: Final = 416
_BAD_REQUEST: Final = 400

_alone: Final = threading.Lock()
"""Held while a single writer checks that a file does not exist and writes it."""


def open_object_store(place: QualifiedPath, storage_options: Mapping[str, str]) -> ObjectStore:
    """Return the store of a table; the factory for `bayou.storage.register`."""
    location = place_of(place)
    options = without_session(storage_options, location, place.uri)
    return ObjectStore(place.uri, location, lambda: ObjectOptions.of(options, location.kind, redact_uri(place.uri)))


class ObjectStore:
    """A LogStore and TreeStore on an object store.

    A conditional PUT ("create only if absent") decides between concurrent writers. The hard case is a lost answer: the PUT may have
    created the object, and a retry then reports that the object exists. Therefore the library must not retry a conditional PUT.
    This class retries it, and compares an existing object with the data that it sent.
    """

    def __init__(self, uri: str, place: ObjectPlace, read_options: Callable[[], ObjectOptions]) -> None:
        """Create the store without sending a request.

        Args:
            uri: the table's URI.
            place: the table's location.
            read_options: reads credentials and settings. It is called once here, and again when the server reports expired
                credentials.

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
            # Skip the content of the subfolder, which may be large, by listing again after its last key. Azure has no offsets.
            offset = passed

    def read(self, path: str) -> bytes:
        """See LogStore."""
        data: bytes = self._done(
            "read the file", path, lambda: checked_answer(self._obstore.get(self._client, self._key(path))).bytes().to_bytes()
        )
        return data

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        key = self._key(path)
        has_suffix_ranges = self._place.kind != "azure"  # object_store 0.14 does not support them on Azure
        is_the_same = SameObject()

        def get(start: int | None, length: int) -> tuple[bytes, int]:
            byte_range = {"suffix": length} if start is None else (start, start + length)
            try:
                answer = checked_answer(self._obstore.get(self._client, key, options={"range": byte_range}))
            except Exception as error:
                if start is None and Failure.of(error).status == _NO_SUCH_RANGE:  # an empty file has no last bytes
                    return b"", 0
                if start is None and "non-partial response" in str(error):  # moto 5.2 sends all of an empty file
                    whole = self._obstore.get(self._client, key).bytes().to_bytes()
                    return whole, len(whole)
                raise
            return is_the_same(answer).bytes().to_bytes(), answer.meta["size"]

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
        """Create a file for a single writer: check that it does not exist, then write it without a condition."""
        with _alone:
            if self._exists(path):
                return False
            # By the client that does not retry: with hidden retries, a refusal after a lost answer would look as if nothing was
            # written.
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
            lambda: self.read(path) == data,  # the txnId in a commit makes its content unique
            needs_object=False,
        )

    def _tried(
        self, doing: str, path: str, create: Callable[[], object], is_ours: Callable[[], bool], *, needs_object: bool = True
    ) -> bool:
        """Create an object unless it exists; retry if the answer was lost. Return False if the object existed before.

        Args:
            doing: the action, for errors.
            path: the path of the object.
            create: sends the request once.
            is_ours: returns whether the existing object was created by an earlier attempt whose answer was lost.
            needs_object: whether the request reads another object, as a copy does, so that "not found" may be the answer.

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
        """Return whether an object is ours. If a failure prevents the check, raise an error that leaves the outcome unknown."""
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
        """See TreeStore. Cost: one LIST request for each thousand entries of a folder."""
        return list_each(folders, lambda folder: self._folder(folder, shown), threads=_THREADS)

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore. Cost: one request for up to a thousand files on S3, one request for each file on other stores."""
        inside, failures = [], dict[str, DeltaError]()
        for path in paths:
            if any(part in {"", ".", ".."} for part in path.split("/")):
                failures[path] = failed("file-outside-table", table=self._uri, file=path)
            else:
                inside.append(path)
        # If the store cannot delete many files by one request, obstore deletes them one by one and stops at the first failure.
        size = _PAGE if self._place.kind == "s3" else 1
        parts = [inside[start : start + size] for start in range(0, len(inside), size)]
        if parts:
            with ThreadPoolExecutor(min(_THREADS, len(parts)), thread_name_prefix="bayou-delete") as pool:
                for errors in pool.map(self._deleted, parts):
                    failures |= errors
        return Deletions(len(paths) - len(failures), failures)

    def copy_if_absent(self, source: LogStore, source_path: str, path: str) -> bool | None:
        """See CopyingStore. The server copies within a bucket; None for any other source."""
        if self._options.single_writer or not (isinstance(source, ObjectStore) and self._shares_bucket(source)):
            return None
        if any("customer_key" in name for name in self._options.store):
            return None  # object_store 0.14 does not send the encryption key of the source, which the server needs
        self._check_obeys()
        # Some servers obey the condition of a PUT and ignore the condition of a copy, so check before.
        try:
            if self._exists(path):
                return False
        except StorageError as error:
            error.facts["is_refused"] = True  # no copy was requested yet
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
        """Delete files by one request, and return the errors by path. If it fails, halve the files to find those that failed."""
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
        listed = self._done("list the folder", path, lambda: self._obstore.list_with_delimiter(self._client, prefix or None))
        self._check_empty(is_empty=not (listed["common_prefixes"] or listed["objects"]))
        start = len(prefix) + 1 if prefix else 0
        folder = FolderBuilder(path, shown)
        # Folders have no modification time here. They count as new, so that VACUUM never deletes them: empty folders do not exist.
        now = int(time.time() * 1000)
        for subfolder in listed["common_prefixes"]:
            folder.add(subfolder[start:].rstrip("/"), 0, now, is_folder=True)
        for entry in listed["objects"]:
            name = entry["path"][start:]
            if name:  # some programs create an empty object that marks the folder itself
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
                    break  # a failed listing yields no further page: start another listing after the last key
                if page is None:
                    self._check_empty(is_empty=last == offset)
                    return
                for entry in page:
                    key = entry["path"]
                    if last is None or key > last:  # azurite and OneLake ignore the offset and start from the first key
                        last = key
                        yield key, entry

    def _check_empty(self, *, is_empty: bool) -> None:
        """Raise StorageError for an empty listing if the server answers with web pages, which the library reads as empty ones."""
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
            result, failure = attempt(request, self._hide)
            if failure is None:
                return cast("T", result)
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
            StorageError: the credentials cannot be read. Any other error would end a commit with the claim that nothing was
                written, although an earlier attempt whose answer was lost may have written it.
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
    """Return whether a request for many objects failed because of one: by an error for that object, or by an invalid key."""
    status = error.facts.get("status")
    return status == _BAD_REQUEST if status is not None else error.facts.get("code") is not None


def _before(key: str) -> str:
    """Return a string that sorts just before a key, so that a listing after it begins with the key."""
    # Not a slash, which would end a folder, and not a surrogate, which is not a character.
    lower = {"0": ".", "\ue000": "\ud7ff"}.get(key[-1], chr(ord(key[-1]) - 1))
    return key[:-1] if lower < " " else key[:-1] + lower + _LAST


def _milliseconds(entry: Mapping[str, Any]) -> int:
    return int(entry["last_modified"].timestamp() * 1000)


def _etag(entry: Mapping[str, Any]) -> str | None:
    etag = entry.get("e_tag")
    return None if etag is None else str(etag)
