# SPDX-License-Identifier: Apache-2.0
"""Every published table is read without Spark as the engines that agree on it read it, or is refused by name."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.acceptance.cases import Expected, core_cases, judged, judged_error, prepared

import bayou
from bayou.protocol.types.traverse import primitives

SHOWN = 20


def read(path, version=None):
    return bayou.open(path).snapshot(version).to_arrow()


READER = SimpleNamespace(read=read, snapshot=lambda _path, _version: {})


def has_variant(path, version):
    return "variant" in set(primitives(bayou.open(path).snapshot(version).schema))


@pytest.mark.parametrize("kind", ["ok", "error"])
def test_every_published_table_is_read_as_its_peers_read_it(corpora, tmp_path, kind):
    expected = Expected(corpora)
    failures, refused, cases = [], 0, list(core_cases(corpora, "read", kind))
    for number, case in enumerate(cases):
        path = prepared(corpora, case, tmp_path / str(number))
        if kind == "error":
            why = judged_error(case, path, READER)
        elif has_variant(path, case["version"]):
            refused += 1
            with pytest.raises(bayou.DeltaError, match="variant"):
                read(path, case["version"])
            continue
        else:
            why = judged(case, path, expected, READER)
        if why:
            failures.append(f"{case['id']}: {why}")
    assert len(cases) > refused
    assert not failures, f"{len(failures)} of {len(cases)} cases:\n" + "\n".join(failures[:SHOWN])
