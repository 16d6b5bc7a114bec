# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.protocol.actions.paths import canonical, decode, encode, hadoop_uri, is_absolute, to_uri

TABLE = "file:///data/my table"
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(NAMES)
def test_a_path_survives_its_encoding(name):
    assert decode(encode(name)) == name


@given(st.lists(NAMES.filter(lambda name: name not in {".", ".."}), min_size=1, max_size=4).map("/".join))
def test_every_spelling_of_a_file_has_one_canonical_form(path):
    encoded = encode(path)
    spellings = [
        encoded,
        f"./{encoded}",
        f"/data/my%20table/{encoded}",
        f"file:/data/my%20table/{encoded}",
        f"file:///data/my%20table/{encoded}",
        f"file:///data//my%20table/./{encoded}",
    ]
    assert {canonical(spelling, TABLE) for spelling in spellings} == {path}


@given(NAMES, NAMES)
def test_different_files_have_different_canonical_forms(first, second):
    same = first == second
    assert (canonical(f"x{encode(first)}", TABLE) == canonical(f"x{encode(second)}", TABLE)) is same


@in_one_test(
    ("path", "expected"),
    [
        ("part-0.parquet", "part-0.parquet"),
        ("day=2024-01-01%2000%3A00%3A00/part-0.parquet", "day=2024-01-01 00:00:00/part-0.parquet"),
        ("a%253Ab", "a%3Ab"),
        ("a%zz", "a%zz"),
        ("a%ff", "a%ff"),
        ("a%3A/b", "a:/b"),
        ("s3://bucket/t/a%20b", "s3a://bucket/t/a b"),
        ("S3://bucket/t//a", "s3a://bucket/t/a"),
        ("/elsewhere/a", "/elsewhere/a"),
        ("file:///elsewhere/a", "/elsewhere/a"),
        ("/data/my%20table2/a", "/data/my table2/a"),
        ("a/../b", "b"),
        ("", ""),
    ],
)
def test_canonical_forms(path, expected):
    assert canonical(path, TABLE) == expected


def test_an_absolute_path_in_an_object_store_is_relative_to_its_table():
    assert canonical("s3a://bucket/tables/t/a%3Db", "s3a://bucket/tables/t") == "a=b"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a%20b", "file:///data/my table/a b"),
        ("/elsewhere/a", "file:///elsewhere/a"),
        ("file:/elsewhere/a", "file:///elsewhere/a"),
        ("s3://bucket/a%20b", "s3://bucket/a b"),
    ],
)
def test_where_a_file_is(path, expected):
    assert to_uri(path, TABLE) == expected


def test_a_rooted_path_keeps_the_authority_of_its_table():
    assert to_uri("/x/a", "hdfs://name:8020/data/t") == "hdfs://name:8020/x/a"


def test_an_encoded_colon_makes_no_scheme():
    assert not is_absolute("a%3A/b")
    assert not is_absolute("time=10:00/b")
    assert is_absolute("s3://b/c")
    assert is_absolute("/c")


@pytest.mark.parametrize(
    ("uri", "written"),
    [
        ("file:///a b/ü%/p=x:y", "file:/a%20b/ü%25/p=x:y"),
        ("hdfs://host:8020/a[1]", "hdfs://host:8020/a%5B1%5D"),
        ("s3a://bucket/a\u00a0b\u0085", "s3a://bucket/a%C2%A0b%C2%85"),
        ("/plain/#?", "/plain/%23%3F"),
    ],
)
def test_absolute_uris_are_written_as_hadoop_writes_them(uri, written):
    assert hadoop_uri(uri) == written
    assert decode(written) == uri.replace("file:///", "file:/")
