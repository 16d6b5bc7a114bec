# SPDX-License-Identifier: Apache-2.0
"""A program that shows what a session without JARs says before bayou is enabled on it, then, and after it was stopped."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import bayou
from bayou.testing.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable


def said(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001  (whatever a user gets)
        return f"{type(error).__name__}: {error}"
    message = "nothing was raised"
    raise AssertionError(message)


with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder, "t"))
    spark = local_session()
    before = said(lambda: spark.read.format("delta").load(path))
    # The lines around this sentence are Spark's stack.
    found = {"before": before[before.index("[DATA_SOURCE_NOT_FOUND]") :].splitlines()[0]}
    bayou.enable(spark)
    for scheme in ("s3", "gs"):
        found[scheme] = said(lambda uri=f"{scheme}://bucket/t": spark.read.format("delta").load(uri))
    spark.range(1).write.format("delta").save(path)
    frame, table = spark.read.format("delta").load(path), bayou.DeltaTable.forPath(spark, path)
    spark.stop()
    found["DataFrame"] = said(lambda: bayou.write(frame, path, mode="append")).replace(folder, "<folder>")
    found["DeltaTable"] = said(table.delete).replace(folder, "<folder>")
sys.stdout.write(json.dumps(found))
