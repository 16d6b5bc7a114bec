# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

import bayou
from bayou.errors import InvalidOptionError
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


@pytest.mark.parametrize("path", ["~/t", "~/a/../t", Path("~/t"), "~//t"])
def test_a_tilde_and_a_slash_are_the_home_folder(tmp_path, monkeypatch, path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert qualify(path).local == str(tmp_path / "t")


@pytest.mark.parametrize("path", ["~nosuchuser/t", "~x", "~root/t", "~", "a/~/t", "./~/t", "~~/t", " ~/t"])
def test_any_other_tilde_is_a_name(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    assert qualify(path).local == str(tmp_path / path)


@pytest.mark.parametrize(
    "name", ["~x", "~", "a b", " a ", "a%20b", "%", "100%", "a#b", "?", "a?b=c", "a:b", "a@v1", "é", "a\\b", "a\n"]
)
def test_a_table_may_have_any_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    schema = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    bayou.open(name).create(schema)
    assert (tmp_path / name / "_delta_log").is_dir()
    for spelling in (name, f"./{name}", f"x/../{name}", tmp_path / name, f"file:{tmp_path}/{name}", f"file://{tmp_path}/{name}/"):
        log = bayou.open(spelling)
        assert (log.version(), log.table_uri) == (0, f"file://{tmp_path}/{name}")


@pytest.mark.parametrize("path", [None, 5, b"t", b"", ["t"], object(), True])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InvalidOptionError, match=r"os\.PathLike"):
        qualify(path)


@pytest.mark.parametrize("path", ["", "a\0b", "\0", "\ud800", "/data/\udfffx"])
def test_what_no_folder_can_be_called_is_refused(path):
    with pytest.raises(InvalidOptionError) as caught:
        qualify(path)
    assert caught.value.next_step


def test_a_name_that_is_not_utf8_is_a_name(tmp_path):
    assert qualify(str(tmp_path / os.fsdecode(b"\xff"))).local == f"{tmp_path}/\udcff"


@pytest.mark.parametrize("path", ["s3://bucket/t", "abfss://c@a.dfs.core.windows.net/t", "hdfs://name:8020/t"])
def test_other_schemes_are_kept(path):
    place = qualify(f"{path}/")
    assert (place.uri, place.local) == (path, None)
