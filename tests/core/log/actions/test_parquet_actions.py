# SPDX-License-Identifier: Apache-2.0
"""Files of actions that are opened several times while they are read."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayou.log.actions.parquet_actions import ParquetActions
from bayou.storage.local import LocalStore
from bayou.storage.memory import MemoryStore


def checkpoint(order):
    """A checkpoint of many files, with each file's path in a place of its own."""
    adds = [{"path": f"{number:040d}", "size": number} for number in range(5000)][::order]
    out = io.BytesIO()
    pq.write_table(pa.table({"add": adds}), out, compression="none", use_dictionary=False, row_group_size=1000)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["local", "memory"])
def test_a_file_that_was_replaced_is_not_read_by_its_old_footer(tmp_path, kind):
    store = LocalStore(str(tmp_path)) if kind == "local" else MemoryStore()
    store.put("a", checkpoint(1))
    actions = ParquetActions(store, "a")
    assert sum(each.num_rows for each in actions.batches(1000)) == 5000
    store.put("a", checkpoint(-1))
    with pytest.raises(OSError, match="replaced the file while it was read"):
        list(actions.batches(1000))
