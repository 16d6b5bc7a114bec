# SPDX-License-Identifier: Apache-2.0
"""The reads of a transaction, with which the conflict rules decide whether another commit matters."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import canonical_paths

if TYPE_CHECKING:
    from bayou.plan.predicates.predicate import Predicate


class ReadSet:
    """The reads of one transaction. Threads may note reads concurrently.

    Attributes:
        predicates: the filters of scans; a file that cannot hold a matching row was not read.
        whole_table: whether everything was read, whatever files there are.
        app_ids: the applications whose last transaction was looked up.
        unneeded_files: whether the commit relies on files that the table does not need, and that VACUUM may delete meanwhile.
    """

    def __init__(self, table_uri: str) -> None:
        self.predicates: list[Predicate] = []
        self.whole_table = False
        self.app_ids: set[str] = set()
        self.unneeded_files = False
        self._table_uri = table_uri
        self._paths: list[pa.ChunkedArray] = []
        self._lock = threading.Lock()

    @property
    def has_read_files(self) -> bool:
        """Whether the commit depends on which files the table has."""
        return self.whole_table or bool(self.predicates) or bool(self._paths)

    def note_scan(self, predicate: Predicate | None, paths: pa.ChunkedArray) -> None:
        """Note a scan.

        Args:
            predicate: the filter, over physical paths; None if there was none.
            paths: the files that it left, as in the log.
        """
        with self._lock:
            if predicate is None:
                self.whole_table = True
            elif predicate not in self.predicates:
                self.predicates.append(predicate)
            if len(paths):
                self._paths.append(canonical_paths(paths, self._table_uri))

    def note_files(self, paths: pa.ChunkedArray) -> None:
        """Note that only these files were read; their paths are as in the log."""
        with self._lock:
            self._paths.append(canonical_paths(paths, self._table_uri))

    def note_whole_table(self) -> None:
        """Note that all rows were read, and that any added row would have been."""
        with self._lock:
            self.whole_table = True

    def include(self, other: ReadSet) -> None:
        """Include earlier reads of the same version of the table."""
        with self._lock:
            self.predicates += [each for each in other.predicates if each not in self.predicates]
            self.whole_table = self.whole_table or other.whole_table
            self.app_ids |= other.app_ids
            self.unneeded_files = self.unneeded_files or other.unneeded_files
            self._paths += other._paths

    def has_read(self, paths: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return for each canonical path whether that file was read, ignoring its deletion vector."""
        with self._lock:
            known = pa.concat_arrays([pa.array([], pa.string()), *(chunk for each in self._paths for chunk in each.chunks)])
        return pc.is_in(paths, value_set=known)
