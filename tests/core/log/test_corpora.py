# SPDX-License-Identifier: Apache-2.0
"""Published tables of other projects: what the log engine alone must know of each, or why it must refuse.

The cases lie outside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import check_each

from bayou.errors import (
    CorruptLogError,
    DeltaError,
    TableNotFoundError,
    UnsupportedFeatureError,
    UnsupportedProtocolError,
    VersionGapError,
    VersionNotFoundError,
)
from bayou.log.checksum.verify import verify_checksum
from bayou.log.delta_log import open_log
from bayou.log.snapshot.snapshot import Snapshot
from bayou.protocol.types.traverse import leaves

CORPORA = Path(__file__).resolve().parents[4] / "shared" / "corpora" / "open"
FACTS = (
    "version",
    "num_files",
    "size_bytes",
    "protocol",
    "partition_columns",
    "configuration",
    "table_id",
    "txn",
    "domain_metadata",
    "columns",
)
ERRORS: Mapping[str, type[DeltaError]] = {
    "VERSION_NOT_FOUND": VersionNotFoundError,
    "VERSION_GAP": VersionGapError,
    "NO_METADATA": CorruptLogError,
    "NO_PROTOCOL": CorruptLogError,
    "UNSUPPORTED_READER_FEATURE": UnsupportedFeatureError,
    "UNSUPPORTED_READER_VERSION": UnsupportedProtocolError,
    "CATALOG_MANAGED": UnsupportedFeatureError,
    "TABLE_NOT_FOUND": TableNotFoundError,
}


@cache
def cases(kind: str) -> list[Any]:
    manifest = CORPORA / "manifest.jsonl"
    if not manifest.exists():
        pytest.skip("the acceptance corpora are not here")
    found = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    return [
        case
        for case in found
        if case["kind"] == kind
        and case["tier"] != "disputed"
        and case["op"] in {"read", "snapshot"}
        and (CORPORA / case["path"]).is_dir()
        and (kind == "ok" or case["expect"]["error"] in ERRORS)
    ]


def facts_of(snapshot: Snapshot) -> dict[str, Any]:
    """The facts that the manifest states, in its spelling."""
    return {
        "version": snapshot.version,
        "num_files": snapshot.num_files,
        "size_bytes": snapshot.size_bytes,
        "protocol": snapshot.protocol.to_json(),
        "partition_columns": list(snapshot.partition_columns),
        "configuration": dict(snapshot.properties),
        "table_id": snapshot.metadata.id,
        "txn": {name: each.version for name, each in snapshot.transactions.items()},
        "domain_metadata": {name: each.configuration for name, each in snapshot.domain_metadata.items()},
        "columns": [field.name for field in snapshot.schema.fields],
    }


def test_a_snapshot_has_the_facts_that_other_readers_agree_on() -> None:
    check_each(cases("ok"), _has_the_facts, name_of=_id)


def _id(case: dict[str, Any]) -> str:
    return str(case["id"])


def _has_the_facts(case: dict[str, Any]) -> None:
    snapshot = open_log(CORPORA / case["path"]).snapshot(case["version"])
    expected = dict(case["expect"])
    if "columns" in expected:
        expected["columns"] = [name for name, *_ in expected["columns"]]
    found = facts_of(snapshot)
    wanted = {name: expected[name] for name in FACTS if name in expected}
    assert {name: found[name] for name in wanted} == wanted
    assert snapshot.files(["path"]).num_rows == expected.get("num_files", snapshot.num_files)


def test_the_columns_of_files_agree_in_length_and_with_the_checksum() -> None:
    last = {case["path"]: case for case in sorted(cases("ok"), key=lambda case: case["expect"]["version"])}
    check_each(list(last.values()), _agrees_with_itself, name_of=_id)


@pytest.mark.soak
def test_the_columns_of_files_agree_at_every_version() -> None:
    check_each(cases("ok"), _agrees_with_itself, name_of=_id)


def _agrees_with_itself(case: dict[str, Any]) -> None:
    snapshot = open_log(CORPORA / case["path"]).snapshot(case["version"])
    files = snapshot.files()
    files.validate(full=True)
    assert files.num_rows == snapshot.source.state().num_files
    assert all(len(texts) == files.num_rows for texts in snapshot.partition_texts().values())
    assert all(len(values) == files.num_rows for values in snapshot.partitions().values())
    columns = {physical: leaf.type for _, physical, leaf in leaves(snapshot.schema)}
    statistics = snapshot.statistics(columns)
    assert len(statistics.num_records) == len(statistics.tight_bounds) == files.num_rows
    assert snapshot.nbytes >= 0
    verify_checksum(snapshot)


def test_a_table_that_must_not_be_read_is_refused_with_its_reason() -> None:
    check_each(cases("error"), _is_refused, name_of=_id)


def _is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ERRORS[case["expect"]["error"]]) as caught:
        open_log(CORPORA / case["path"]).snapshot(case["version"]).files()
    assert str(CORPORA) in str(caught.value)
    assert caught.value.next_step
