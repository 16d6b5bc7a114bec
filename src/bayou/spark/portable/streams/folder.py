# SPDX-License-Identifier: Apache-2.0
"""The folder of a stream from a table, which Spark's own file source reads.

- Its list of files, in the format of Spark's file sink, names the batches. Each looks like one file to the source, which takes
  one for each trigger.
- A batch is a folder with a list of its data files. Spark reads exactly these, without listing anything. If one of them is
  missing, the query fails. Their modification times in the list are numbers, which go on from batch to batch.
- The note holds what the rows of these files need: partition values, deletion vectors, and the changes of a change feed. Spark
  reads it for each batch.

A file that is not Parquet lies next to each list. If Spark ignores a list, it lists the folder, and fails on that file.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import DeltaError
from bayou.protocol.actions.paths import hadoop_uri
from bayou.spark.portable.scan.carrier import DECOY, DECOY_TEXT
from bayou.spark.portable.scan.listed_files import ListedFiles
from bayou.spark.portable.scan.manifest import LIST, Numbers, encoded_list, line
from bayou.spark.portable.streams.facts import NO_FACTS
from bayou.storage import delete_many, list_tree

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.portable.scratch.folders import Scratch
    from bayou.spark.portable.streams.facts import Facts

NOTE: Final = "note-of-the-stream.json"
"""The name of the note. It has one line."""
FAILED: Final = "/bayou-stream-failed-"
"""The part of a file's path before the string of an error, in hexadecimal digits. No such file exists."""
_FIRST_BITS: Final = 42
"""The first number of a run is a time between the years 2039 and 2178, which no real file has."""
MOST_FILES: Final = 1 << 30
"""So many data files can be numbered in a run."""
_HEAD: Final = "v1"
_FOLDER: Final = re.compile(r"/stream-[0-9a-f]{16}/?$")
_METADATA: Final = LIST.partition("/")[0]


@dataclass
class StreamFolder:
    """The folder of one source in one run of a query.

    Attributes:
        scratch: where the folder is.
        name: its name there.
        first: the modification time of data file 0, in ms since the epoch. It is random, so that files of other lists are found.
    """

    scratch: Scratch
    name: str = field(default_factory=lambda: f"stream-{secrets.token_hex(8)}")
    first: int = field(default_factory=lambda: (1 << (_FIRST_BITS - 1)) + secrets.randbelow(1 << _FIRST_BITS))
    _lines: dict[str, str] = field(default_factory=dict, init=False)
    _sizes: dict[str, int] = field(default_factory=dict, init=False)
    _time: int = field(default=0, init=False)
    _list_size: int = field(default=0, init=False)
    _process: int = field(default_factory=os.getpid, init=False)

    @property
    def place(self) -> str:
        """The folder as Spark's readers accept it."""
        return self.scratch.place(self.name)

    def create(self, time_before: int = 0) -> None:
        """Write the folder without batches.

        Args:
            time_before: the greatest time of a batch in the query's checkpoint. Spark takes later ones as newer.

        Raises:
            StorageError: it could not be written.
        """
        self._time = time_before
        self.scratch.put(f"{self.name}/{DECOY}", DECOY_TEXT)
        self.put_note(0, NO_FACTS, 0)
        self._put_list()

    def put_note(self, base: int, facts: Facts, count: int) -> None:
        """Replace the note.

        Args:
            base: the number of the first file that it is about.
            count: the number of these files.
        """
        values, codes = {}, {}
        for position, texts in enumerate(facts.partitions.values()):
            distinct = {text: code for code, text in enumerate(dict.fromkeys(texts))}
            values[f"p{position}"] = list(distinct)
            codes[f"p{position}"] = [distinct[text] for text in texts]
        note: dict[str, Any] = {"base": base, "count": count, "values": values, "codes": codes, "words": list(facts.words)}
        if facts.changes is not None:
            note |= asdict(facts.changes)
        self.scratch.put(f"{self.name}/{NOTE}", json.dumps(note, separators=(",", ":")).encode())

    def publish(self, *batches: str) -> None:
        """Let Spark read batches, whose lists are written, after those before."""
        if not batches:
            return
        for name in batches:
            if name in self._lines:  # the list may be in the store, although writing it failed
                continue
            # Spark sorts batches by time, and forgets names that are a week older than the last one.
            self._time = max(self._time + 1, int(time.time() * 1000))
            self._lines[name] = line(hadoop_uri(f"{self.place}/{name}"), 1, self._time)
        self._put_list()

    def put_batch(self, name: str, snapshot: Snapshot, files: pa.Table, number: int) -> None:
        """Write the list of a batch's files.

        Args:
            files: their `path` and `size`. No path occurs twice.
            number: the number of the first one.
        """
        self._put(f"{self.name}/{name}", self.batch_list(snapshot, files, number))

    def put_failure(self, name: str, error: DeltaError) -> None:
        """Write the list of a batch that fails with the message of an error."""
        self._put(f"{self.name}/{name}", self.failure_list(error))

    def batch_list(self, snapshot: Snapshot, files: pa.Table, number: int) -> bytes:
        """Return the list of a batch's files; see `put_batch`."""
        return encoded_list(ListedFiles(snapshot, files), None, Numbers(self.first + number, files.num_rows))

    def failure_list(self, error: DeltaError) -> bytes:
        """Return a list of files for which the query fails with the message of an error.

        Spark finds the message in the path when it plans the batch, so that no filter of the query leaves the file out.
        """
        return f"{_HEAD}\n{line(hadoop_uri(self.place) + FAILED + str(error).encode().hex(), 1, 1)}".encode()

    def is_whole(self, name: str) -> bool:
        """Whether the list of a batch is in its folder, as it was written.

        Raises:
            StorageError: the store does not say it.
        """
        try:
            return self.scratch.size(f"{self.name}/{name}/{LIST}") == self._sizes[name]
        except FileNotFoundError:
            return False

    def has_list(self) -> bool:
        """Whether the folder still has a list of batches."""
        return self.scratch.has(f"{self.name}/{LIST}", self._list_size)

    def forget(self, *names: str) -> None:
        """Delete batches that Spark has read."""
        if names:
            for name in names:
                self._lines.pop(name, None)
            self._put_list()
            self._delete(names)

    def delete(self, kept: Container[str] = ()) -> None:
        """Delete the folder, without some of its batches. A fork leaves it to the process that made it."""
        if self._process != os.getpid():
            return
        self._delete([name for name in self._sizes if name not in kept])
        self.scratch.delete(f"{self.name}/{NOTE}", f"{self.name}/{LIST}", f"{self.name}/{DECOY}")
        self.scratch.close()

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._sizes.pop(name, None)
            self.scratch.delete(f"{self.name}/{name}/{LIST}", f"{self.name}/{name}/{DECOY}")

    def _put(self, folder: str, data: bytes) -> None:
        put_list(self.scratch, folder, data)
        self._sizes[folder.rpartition("/")[2]] = len(data)

    def _put_list(self) -> None:
        data = "\n".join([_HEAD, *self._lines.values()]).encode()
        self.scratch.put(f"{self.name}/{LIST}", data)
        self._list_size = len(data)


def put_list(scratch: Scratch, folder: str, data: bytes) -> None:
    """Write a list of files into a folder, after the file that makes Spark fail without the list."""
    scratch.put(f"{folder}/{DECOY}", DECOY_TEXT)
    scratch.put(f"{folder}/{LIST}", data)


def delete_batch(scratch: Scratch, name: str) -> None:
    """Delete a batch in the folder of another run."""
    scratch.delete(f"{name}/{LIST}", f"{name}/{DECOY}")


def delete_run(scratch: Scratch, kept: Container[str]) -> None:
    """Delete what an earlier run has left in its folder, which is `scratch` itself, without some of its batches.

    A store that cannot list folders leaves it.
    """
    if _FOLDER.search(scratch.uri) is None:
        return
    with contextlib.suppress(DeltaError, OSError):
        paths = [path for found in list_tree(scratch.store, (_METADATA,)) for path in found["path"].to_pylist()]
        delete_many(scratch.store, [path for path in paths if path.partition("/")[0] not in kept])
        for path in (*paths, "x"):  # "x" for the folder itself, which may hold nothing any more
            scratch.remove_empty(path, path.count("/") + 1)
