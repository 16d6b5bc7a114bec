# SPDX-License-Identifier: Apache-2.0
"""Tables that other projects published: a scan on a stock Spark Connect server gives the rows that their readers agree on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from tests.acceptance.cases import Expected, core_cases, judged, judged_error, prepared
from tests.acceptance.reader import as_json, snapshot

import bayou
from bayou.spark.portable.scan.rows import scan_frame

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SHOWN = 20
PARTS = 6
# Their footers have the logical type VARIANT, which the Parquet library of Spark 4.0 does not know.
NEED_4_1 = {
    *(f"delta.history.json_{of_json}_struct_{of_struct}" for of_json in ("true", "false") for of_struct in ("true", "false")),
    "delta.history.variant_stats_no_checkpoint_golden",
    "delta.spark.variant-stats-nested-no-checkpoint",
    "delta.spark.variant-stats-no-checkpoint",
    "delta.spark.variant-stats-state-reconstruction",
    "delta.spark.variant-stats-with-struct-no-checkpoint",
}


@pytest.fixture
def reader(spark: SparkSession) -> Any:
    def read(path: str, version: int | None = None) -> Any:
        frame = scan_frame(spark, bayou.open(path).snapshot(version))
        if "variant" in frame.schema.simpleString():
            frame = frame.selectExpr(*(f"{as_json(f'`{f.name}`', f.dataType)} as `{f.name}`" for f in frame.schema))
        return frame.toArrow()

    return SimpleNamespace(read=read, snapshot=snapshot)


@pytest.mark.in_turn(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_published_tables_are_read_as_their_writers_peers_read_them(reader: Any, corpora: Path, tmp_path: Path, part: int) -> None:
    expected = Expected(corpora)
    kinds = [(kind, case) for kind in ("ok", "error") for case in core_cases(corpora, "read", kind)]
    left_out = NEED_4_1 if pyspark.__version__.startswith("4.0.") else ()
    cases = [(kind, case) for kind, case in kinds[part::PARTS] if case["id"] not in left_out]
    failures = []
    for number, (kind, case) in enumerate(cases):
        path = prepared(corpora, case, tmp_path / str(number))
        try:
            why = judged_error(case, path, reader) if kind == "error" else judged(case, path, expected, reader)
        except Exception as error:  # noqa: BLE001  (each is a case that fails)
            why = repr(error)[:300]
        if why:
            failures.append(f"{case['id']}: {why}")
    assert cases
    assert not failures, f"{len(failures)} of {len(cases)} cases:\n" + "\n".join(failures[:SHOWN])
