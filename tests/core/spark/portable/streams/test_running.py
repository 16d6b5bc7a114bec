# SPDX-License-Identifier: Apache-2.0
"""A stream from a table publishes each file once, whatever its scratch store does meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark")

from tests.core.log.streaming.streams import source_of, table

from bayou.spark.portable.scan.manifest import LIST
from bayou.spark.portable.scratch.folders import Scratch
from bayou.spark.portable.streams.facts import FactReader
from bayou.spark.portable.streams.folder import StreamFolder
from bayou.spark.portable.streams.running import SourceRun, Trigger
from bayou.storage import MemoryStore
from bayou.testing.table_builder import add

if TYPE_CHECKING:
    from typing import Any


class FailingStore(MemoryStore):
    """A store whose next writes or looks fail."""

    def __init__(self) -> None:
        super().__init__()
        self.passing: int | None = None
        """So many calls pass before one fails; None if all pass."""

    def put(self, path: str, data: bytes, **options: Any) -> Any:
        self._count()
        return super().put(path, data, **options)

    def size(self, path: str) -> int:
        self._count()
        return super().size(path)

    def _count(self) -> None:
        if self.passing is not None:
            self.passing -= 1
            if self.passing < 0:
                self.passing = None
                raise OSError("the store is out of reach")


def paths_in(store: MemoryStore, name: str) -> list[str]:
    """The paths that a list names."""
    lines = store.read(f"{name}/{LIST}").decode().splitlines()[1:]
    return [json.loads(each)["path"] for each in lines]


@pytest.mark.parametrize("passing", range(8))
def test_a_batch_that_could_not_be_published_is_published_later(passing: int) -> None:
    builder, store = table(), FailingStore()
    folder = StreamFolder(Scratch("memory:/scratch", store))
    run = SourceRun(None, source_of(builder), folder, lambda: None, Trigger.ALWAYS, FactReader((), False, {}), {})
    run.prepare()
    run.publish()
    taken: dict[str, list[str]] = {}
    store.passing = passing
    for number in range(5):
        builder.commit(add(f"file-{number}", size=10))
        for _ in range(3):
            try:
                run.advance(len(taken) - 1)
            except OSError:
                continue
            for path in paths_in(store, folder.name):
                batch = path.rpartition("/")[2]
                taken.setdefault(batch, [each.rpartition("/")[2] for each in paths_in(store, f"{folder.name}/{batch}")])
    assert store.passing is None
    assert [path for batch in taken.values() for path in batch] == [f"file-{number}" for number in range(5)]
    assert run.advance(len(taken) - 1)
