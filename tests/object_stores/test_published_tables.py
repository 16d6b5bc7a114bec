# SPDX-License-Identifier: Apache-2.0
"""Tables of other writers read from S3 as they do from the local disk: by Spark, and by the log engine alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance import reader
from tests.acceptance.cases import Expected, core_cases, judged, judged_error, prepared
from tests.object_stores.conftest import BUCKET

from bayou.storage import open_store, qualify

PARTS = 10
KINDS = {"rows": ("read", "ok"), "errors": ("read", "error"), "snapshots": ("snapshot", "ok")}


@pytest.mark.in_turn(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_published_tables_are_read_from_s3(spark, server, corpora, tmp_path, monkeypatch, part):
    monkeypatch.setattr(reader, "_session", lambda: spark)
    expected, failures, uploaded, count = Expected(corpora), [], set(), 0
    for kind, (operation, outcome) in KINDS.items():
        for number, case in enumerate(core_cases(corpora, operation, outcome)):
            if number % PARTS == part:
                path = put(corpora, case, tmp_path / f"{kind}{number}", uploaded)
                why = judged_error(case, path, reader) if kind == "errors" else judged(case, path, expected, reader)
                failures += [f"{case['id']}: {why}"] if why else []
                count += 1
    assert count
    assert not failures, f"{len(failures)} of {count} cases:\n" + "\n".join(failures[:20])


def put(corpora, case, copy, uploaded):
    """The URI of a case's table on S3, where it is put unless it is there."""
    root = f"s3a://{BUCKET}/published"
    uri = f"{root}/{case['path']}" if "setup" not in case else f"{root}-copies/{copy.name}"
    folders = {uri: Path(prepared(corpora, case, copy, uri, root))}
    folders |= {f"{root}/{each}": corpora / each for each in case.get("setup", {}).get("needs", ())}
    for to, local in folders.items():
        if to not in uploaded:
            store = open_store(qualify(to))
            for file in local.rglob("*"):
                if file.is_file():
                    store.put(file.relative_to(local).as_posix(), file.read_bytes())
            uploaded.add(to)
    return uri
