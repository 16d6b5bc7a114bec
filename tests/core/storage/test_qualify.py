# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from bayou.storage import qualify


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/data/t", "/data/t"),
        ("/data/t/", "/data/t"),
        ("/data/./x/../t", "/data/t"),
        (Path("/data/t"), "/data/t"),
        ("file:/data/t", "/data/t"),
        ("file:///data/t", "/data/t"),
        ("FILE:///data/t/", "/data/t"),
        ("file:///data/a%20b", "/data/a%20b"),
        ("/data/a b#c?d", "/data/a b#c?d"),
        ("/data/day=10:00", "/data/day=10:00"),
    ],
)
def test_a_local_path_has_one_spelling(path, local):
    place = qualify(path)
    assert (place.local, place.uri, place.scheme) == (local, f"file://{local}", "file")


def test_a_relative_path_starts_at_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert qualify("t").local == str(tmp_path / "t")
    assert qualify("./t/").uri == f"file://{tmp_path}/t"


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert qualify("~/t").local == str(tmp_path / "t")


@pytest.mark.parametrize("path", ["s3://bucket/t", "abfss://c@a.dfs.core.windows.net/t", "hdfs://name:8020/t"])
def test_other_schemes_are_kept(path):
    place = qualify(f"{path}/")
    assert (place.uri, place.local) == (path, None)
