# SPDX-License-Identifier: Apache-2.0
"""What delta-rs makes of a table."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

deltalake = pytest.importorskip("deltalake", reason="delta-rs is not installed")


def outcomes(path):
    """What delta-rs makes of a table, by both of its ways to read: rows in order, or why it refuses."""
    return [outcome(read, path) for read in (by_data_set, by_query)]


def by_data_set(path):
    return deltalake.DeltaTable(path).to_pyarrow_table()


def by_query(path):
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(path))
    return pa.table(query.execute("select * from t").read_all())


def outcome(read, path):
    """The rows of one way to read, in order, and their types; or why it refuses."""
    try:
        found = read(path)
    except Exception as error:  # noqa: BLE001  (delta-rs has many)
        return said(error)
    return rows_of(found), dict(zip(found.schema.names, map(str, found.schema.types), strict=True))


def refusal(write, *given):
    """Why a write is refused; None where it is committed."""
    try:
        write(*given)
    except Exception as error:  # noqa: BLE001  (delta-rs has many)
        return said(error)
    return None


def rows_of(table):
    """The rows of an Arrow table as texts, in order."""
    return sorted(map(str, table.to_pylist()))


def said(error):
    """An error without what differs between two equal tables."""
    text = re.sub(r"(file://)?/\S+|col-[0-9a-f-]+|[0-9a-f]{8}-[0-9a-f-]{27}\S*", "...", str(error))
    # It lists features in any order.
    text = re.sub(r"\[([^][]*)\]", lambda found: str(sorted(found[1].split(", "))), text)
    return f"{type(error).__name__}: {text}"
