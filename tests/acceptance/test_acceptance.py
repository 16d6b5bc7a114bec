# SPDX-License-Identifier: Apache-2.0
"""Every published table reads as the engines that agree on it read it: rows, columns, and what the log says.

The cases, the canonical form of a row and the rules of comparison are the checker's own.
"""

from __future__ import annotations

import pytest
from tests.acceptance import reader
from tests.acceptance.cases import Expected, core_cases, judged, judged_error, prepared

KINDS = {"rows": ("read", "ok"), "errors": ("read", "error"), "snapshots": ("snapshot", "ok"), "changes": ("cdf", "ok")}
SHOWN = 20


@pytest.mark.parametrize("kind", KINDS)
def test_every_published_table_is_read_as_its_writers_peers_read_it(spark, corpora, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(reader, "_session", lambda: spark)
    expected = Expected(corpora)
    cases = list(core_cases(corpora, *KINDS[kind]))
    failures = []
    for number, case in enumerate(cases):
        path = prepared(corpora, case, tmp_path / str(number))
        why = judged_error(case, path, reader) if kind == "errors" else judged(case, path, expected, reader)
        if why:
            failures.append(f"{case['id']}: {why}")
    assert cases
    assert not failures, f"{len(failures)} of {len(cases)} cases:\n" + "\n".join(failures[:SHOWN])
