# SPDX-License-Identifier: Apache-2.0
"""Adapters are compiled once for a machine, and only class files that nobody else can have put there are loaded."""

from __future__ import annotations

import re
import shutil

import pytest

from bayou.errors import SessionError
from bayou.spark.jvm.core.adapter_cache import AdapterCache
from bayou.spark.jvm.core.adapters import Adapters
from bayou.spark.jvm.core.bridge import Jvm


@pytest.fixture
def compiled(tmp_path):
    folder = tmp_path / "compiled"
    (folder / "bayou").mkdir(parents=True)
    (folder / "bayou" / "Rule.class").write_bytes(b"class")
    return folder


@pytest.fixture
def cache(tmp_path):
    return AdapterCache(tmp_path / "cache" / "adapters")


def test_kept_classes_are_found_under_their_key_alone(cache, compiled):
    key, other = cache.key(["Spark 4.2.0", "source"]), cache.key(["Spark 4.3.0", "source"])
    assert cache.get(key) is None
    kept = cache.put(key, compiled)
    assert cache.get(key) == kept
    assert (kept / "bayou" / "Rule.class").read_bytes() == b"class"
    assert cache.get(other) is None


def test_facts_do_not_run_into_each_other(cache):
    assert cache.key(["ab", "c"]) != cache.key(["a", "bc"])


def test_the_second_of_two_processes_uses_what_the_first_kept(cache, compiled):
    first = cache.put("key", compiled)
    assert cache.put("key", compiled) == first
    assert [entry.name for entry in cache.root.iterdir()] == ["key"]


def test_a_folder_that_others_can_write_to_is_not_trusted(cache, compiled):
    kept = cache.put("key", compiled)
    kept.chmod(0o777)
    assert cache.get("key") is None
    kept.chmod(0o700)
    cache.root.chmod(0o770)
    assert cache.get("key") is None
    assert cache.put("other", compiled) is None


def test_half_a_folder_and_a_link_are_not_trusted(cache, compiled):
    kept = cache.put("key", compiled)
    (cache.root / "link").symlink_to(kept)
    assert cache.get("link") is None
    (kept / "complete").unlink()
    assert cache.get("key") is None


def test_where_nothing_can_be_kept_the_session_compiles_for_itself(compiled, tmp_path):
    (tmp_path / "file").touch()
    assert AdapterCache(tmp_path / "file" / "adapters").put("key", compiled) is None


def test_a_later_session_does_not_compile(spark, cache, monkeypatch):
    adapters = Adapters(Jvm.of(spark))
    first = adapters._add_to_class_path(cache)
    assert (first / "bayou" / "Rule.class").exists()
    monkeypatch.setattr(Adapters, "_compile", None)
    assert Adapters(Jvm.of(spark))._add_to_class_path(cache) == first


def test_an_adapter_that_does_not_compile_takes_no_other_with_it(plain_spark):
    adapters = Adapters(Jvm.of(plain_spark))
    broken = {**adapters._sources()}
    broken["Catalog.java"] = re.sub(
        r"class Catalog extends [\w.]+", "class Catalog extends org.gone.Extension", broken["Catalog.java"]
    )
    assert "org.gone" in broken["Catalog.java"]
    folder = adapters._compile(broken)
    try:
        compiled = {file.stem for file in folder.rglob("*.class")}
    finally:
        shutil.rmtree(folder)
    assert {"Rule", "Parser", "DefaultSource", "WritableTable"} <= compiled
    assert "Catalog" not in compiled


@pytest.mark.smoke
def test_a_missing_adapter_is_named_with_what_does_not_work_without_it(plain_spark):
    adapters = Adapters(Jvm.of(plain_spark))
    adapters.missing = {"StreamSink": "File 'StreamSink.java', Line 3: no such class"}
    assert "StreamSink" in adapters.what_is_missing()
    assert "streams that write a table" in adapters.what_is_missing()
    assert not adapters.has("bayou.StreamSink")
    with pytest.raises(SessionError, match=r"bayou\.StreamSink does not compile on this Spark"):
        adapters.new("bayou.StreamSink", "name", None)


@pytest.mark.smoke
def test_this_spark_lacks_no_adapter(spark):
    assert Adapters.of(Jvm.of(spark)).missing == {}
