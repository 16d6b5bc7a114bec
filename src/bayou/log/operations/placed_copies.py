# SPDX-License-Identifier: Apache-2.0
"""Which files a deep clone copies, and to which paths.

Each copy keeps its path below the source's folder unless the clone's folder has another file under that path. A repeated clone
finds its earlier copies by these paths and only copies new files.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import canonical_paths
from bayou.log.operations.maintained import place_in_store, store_of, those_there, vector_place
from bayou.log.rows.deleted_rows import live_files
from bayou.protocol.actions.paths import canonical, decode, encode
from bayou.protocol.deletion_vectors import z85
from bayou.storage.copies import FileCopy

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.added_files import AddedFiles
    from bayou.protocol.actions.actions import AddFile
    from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
    from bayou.storage.store import LogStore

_VECTOR_FILE: Final = re.compile(r"deletion_vector_([0-9a-f-]{36})\.bin")
_FOLDER_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """The files that a clone adds, copies and removes.

    Attributes:
        adds: the files to add to the clone's log.
        added_files: further files to add, without deletion vectors; None for none.
        copies: the data files and deletion vectors to copy.
        removed: the files that a replaced table loses, as rows of its snapshot; None if no table is replaced.
        copied_bytes: the size of the data files to copy.
    """

    adds: Sequence[AddFile] = ()
    added_files: AddedFiles | None = None
    copies: Sequence[FileCopy] = ()
    removed: pa.Table | None = None
    num_data_files: int = 0
    copied_bytes: int = 0

    @property
    def removed_bytes(self) -> int:
        """The size of the removed files."""
        return 0 if self.removed is None else pc.sum(self.removed["size"]).as_py() or 0

    @property
    def is_empty(self) -> bool:
        """Whether no file is added or removed."""
        return not (self.adds or self.added_files) and (self.removed is None or not self.removed.num_rows)


def plan_copies(
    files: Iterable[AddFile],
    source: LogReader,
    target: LogReader,
    latest: Snapshot | None,
    storage_options: Mapping[str, str] | None = None,
) -> CopyPlan:
    """Plan what a deep clone copies; `latest` is the table that is replaced, if there is one."""
    wanted = [_Wanted.of(each, source.table_uri) for each in files]
    live = {} if latest is None else {_key(each, target.table_uri): each for each in live_files(latest.files())}
    new = [each for each in wanted if _key(each.add, target.table_uri) not in live]
    kept = {_key(each.add, target.table_uri) for each in wanted} & live.keys()
    stores: dict[str, LogStore] = {}
    copied = _Copies(source, {_data_key(each, target.table_uri) for each in live.values()}, stores, target, storage_options)
    copied.place(new)
    removed = None
    if latest is not None:
        files_before = latest.files()
        gone = [canonical(each.path, target.table_uri) for key, each in live.items() if key not in kept]
        paths = canonical_paths(files_before["path"], target.table_uri)
        removed = files_before.filter(pc.is_in(paths, value_set=pa.array(gone, pa.string())))
    return CopyPlan(copied.adds, None, copied.copies, removed, copied.num_data_files, copied.copied_bytes)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A file of the source, and its form in the clone if the path is free."""

    source: AddFile
    add: AddFile

    @classmethod
    def of(cls, add: AddFile, table_uri: str) -> _Wanted:
        path = encode(_target_path(add.path, table_uri))
        vector = add.deletion_vector
        if vector is not None and vector.storage_type == "p":
            vector = _own_vector(vector)
        return cls(add, replace(add, path=path, deletion_vector=vector))


def _target_path(path: str, table_uri: str) -> str:
    """Return the decoded path of a copy: the path below the source, or one derived from where the file lies."""
    root, inside = place_in_store(path, table_uri)
    if not root:
        return inside
    folder = hashlib.sha256(root.encode()).hexdigest()[:_FOLDER_CHARACTERS]
    return f"{folder}/{inside}"


def _own_vector(vector: DeletionVectorDescriptor) -> DeletionVectorDescriptor:
    """Return a deletion vector of another folder as one of the clone's, under the same UUID if its name has one."""
    found = _VECTOR_FILE.fullmatch(decode(vector.path_or_inline_dv).rpartition("/")[2])
    known = uuid.UUID(found[1]) if found else uuid.uuid5(uuid.NAMESPACE_URL, vector.path_or_inline_dv)
    return replace(vector, storage_type="u", path_or_inline_dv=z85.encode(known.bytes))


def _key(add: AddFile, table_uri: str) -> tuple[object, ...]:
    vector = add.deletion_vector
    return (*_data_key(add, table_uri), None if vector is None else vector.unique_id)


def _data_key(add: AddFile, table_uri: str) -> tuple[object, ...]:
    """Return the key that identifies an existing copy of a file."""
    return canonical(add.path, table_uri), add.size, add.modification_time


@dataclass(slots=True)
class _Copies:
    source: LogReader
    live: set[tuple[object, ...]]
    stores: dict[str, LogStore]
    target: LogReader
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    adds: list[AddFile] = field(default_factory=list)
    copies: list[FileCopy] = field(default_factory=list)
    num_data_files: int = 0
    copied_bytes: int = 0

    def place(self, files: Sequence[_Wanted]) -> None:
        """Choose the copies' paths; a path of another file is not used."""
        uri = self.target.table_uri
        paths = {decode(each.add.path) for each in files if _data_key(each.add, uri) not in self.live}
        vectors = [each.add.deletion_vector for each in files]
        paths |= {each.relative_path for each in vectors if each is not None and each.relative_path is not None}
        taken = those_there(self.target.store, paths) if paths else set()
        moved: dict[str, DeletionVectorDescriptor] = {}
        for each in files:
            add = each.add
            if _data_key(add, uri) not in self.live:
                add = self._data_file(each, taken)
            if add.deletion_vector is not None and not add.deletion_vector.is_inline:
                add = replace(add, deletion_vector=self._vector(each, taken, moved))
            self.adds.append(add)

    def _data_file(self, file: _Wanted, taken: set[str]) -> AddFile:
        path = decode(file.add.path)
        if path in taken:
            folder, slash, name = path.rpartition("/")
            path = f"{folder}{slash}{uuid.uuid4().hex}-{name}"
        self._copy(*place_in_store(file.source.path, self.source.table_uri), path)
        self.num_data_files += 1
        self.copied_bytes += file.add.size
        return replace(file.add, path=encode(path))

    def _vector(
        self, file: _Wanted, taken: set[str], moved: dict[str, DeletionVectorDescriptor]
    ) -> DeletionVectorDescriptor | None:
        """Return the deletion vector of a copy. Several files share a file of deletion vectors, which is copied once."""
        wanted, source = file.add.deletion_vector, file.source.deletion_vector
        if wanted is None or source is None:
            return wanted
        if wanted.path_or_inline_dv not in moved:
            place = wanted
            if wanted.relative_path in taken:
                place = replace(wanted, path_or_inline_dv=z85.encode(uuid.uuid4().bytes))
            moved[wanted.path_or_inline_dv] = place
            self._copy(*vector_place(source, self.source.table_uri), str(place.relative_path))
        return replace(wanted, path_or_inline_dv=moved[wanted.path_or_inline_dv].path_or_inline_dv)

    def _copy(self, root: str, path: str, target_path: str) -> None:
        if root not in self.stores:
            self.stores[root] = store_of(self.source, root, self.storage_options)
        self.copies.append(FileCopy(self.stores[root], path, target_path))
