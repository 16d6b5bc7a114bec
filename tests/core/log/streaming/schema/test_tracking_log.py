# SPDX-License-Identifier: Apache-2.0
"""The files of a schema tracking log; the texts are those that delta-spark's serialiser makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidOptionError, StreamingSourceError
from bayou.log.streaming.schema.tracking_log import SchemaLog, TrackedMetadata, log_location
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.storage import LocalStore, MemoryStore

SCHEMA = schema_to_json(StructType((StructField("id", "long"), StructField("day", "date"))))
DAY = schema_to_json(StructType((StructField("day", "date"),)))
METADATA = Metadata("t-1", SCHEMA, ("day",), {"delta.appendOnly": "true"})
ENTRY = TrackedMetadata.of("t-1", 7, METADATA, Protocol(1, 2), "file:/c/sources/0")
TEXT = (
    'v1\n{"tableId":"t-1","deltaCommitVersion":7,'
    '"dataSchemaJson":"{\\"type\\":\\"struct\\",\\"fields\\":['
    '{\\"name\\":\\"id\\",\\"type\\":\\"long\\",\\"nullable\\":true,\\"metadata\\":{}},'
    '{\\"name\\":\\"day\\",\\"type\\":\\"date\\",\\"nullable\\":true,\\"metadata\\":{}}]}",'
    '"partitionSchemaJson":"{\\"type\\":\\"struct\\",\\"fields\\":['
    '{\\"name\\":\\"day\\",\\"type\\":\\"date\\",\\"nullable\\":true,\\"metadata\\":{}}]}",'
    '"sourceMetadataPath":"file:/c/sources/0","tableConfigurations":{"delta.appendOnly":"true"},'
    '"protocolJson":"{\\"protocol\\":{\\"minReaderVersion\\":1,\\"minWriterVersion\\":2}}"}'
)


def log(store=None):
    return SchemaLog(store or MemoryStore(), "/c/_schema_log_t-1")


def test_an_entry_is_written_as_delta_spark_writes_it():
    assert ENTRY.to_text() == TEXT


def test_an_entry_is_read_back():
    assert TrackedMetadata.from_text(TEXT, "/c") == ENTRY


@given(
    st.text(),
    st.integers(0, 1 << 40),
    st.one_of(st.none(), st.dictionaries(st.text(), st.text(), max_size=3)),
    st.one_of(st.none(), st.just(Protocol(3, 7, ("columnMapping",), ("columnMapping", "appendOnly")))),
    st.one_of(st.none(), st.integers(-1, 9)),
)
def test_what_is_written_is_read_back(path, version, configuration, protocol, previous):
    entry = TrackedMetadata("t", version, SCHEMA, DAY, path, configuration, protocol, previous)
    assert TrackedMetadata.from_text(entry.to_text(), "/c") == entry


def test_an_entry_puts_its_schema_in_the_place_of_a_tables():
    later = Metadata("t-1", "{}", (), {"delta.other": "1"}, name="n")
    found = ENTRY.applied_to(later)
    assert (found.schema_string, found.partition_columns, found.name) == (SCHEMA, ("day",), "n")
    assert found.configuration == {"delta.appendOnly": "true"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "DESERIALIZE"),
        ("v1", "DESERIALIZE"),
        ("v2\n{}", "DESERIALIZE"),
        ("v1\n{}", "DESERIALIZE"),
        ("v1\n[]", "DESERIALIZE"),
        (TEXT.replace('"deltaCommitVersion":7', '"deltaCommitVersion":"x"'), "DESERIALIZE"),
        (TEXT.replace("struct", "array"), "PARSE_SCHEMA"),
    ],
)
def test_a_broken_entry_is_refused(text, what):
    with pytest.raises(StreamingSourceError) as raised:
        TrackedMetadata.from_text(text, "/c")
    assert raised.value.error_class == f"DELTA_STREAMING_SCHEMA_LOG_{what}_FAILED"


def test_the_last_entry_is_the_current_one(tmp_path):
    store = LocalStore(tmp_path / "log")
    entries = log(store)
    assert (entries.number, entries.current, entries.previous) == (-1, None, None)
    entries.add(ENTRY)
    later = TrackedMetadata.of("t-1", 9, METADATA, Protocol(1, 2), "file:/c/sources/0")
    entries.add(later)
    again = log(store)
    assert (again.number, again.current, again.previous) == (1, later, ENTRY)
    assert (tmp_path / "log" / "0").read_text() == TEXT


def test_files_that_are_no_entries_are_passed_over():
    store = MemoryStore()
    for name in (".0.crc", "x", "1.tmp"):
        store.put(name, b"")
    assert log(store).number == -1


def test_the_same_entry_is_written_once():
    entries = log()
    entries.add(ENTRY)
    entries.add(ENTRY)
    assert entries.number == 0


def test_an_entry_in_the_place_of_another_follows_what_that_one_followed():
    entries = log()
    for version in (1, 2):
        entries.add(TrackedMetadata.of("t-1", version, METADATA, Protocol(1, 2), "p"))
    entries.add(TrackedMetadata.of("t-1", 5, METADATA, Protocol(1, 2), "p"), in_place_of_current=True)
    assert (entries.number, entries.current.previous, entries.previous.version) == (2, 0, 1)


def test_two_streams_cannot_write_one_log():
    store = MemoryStore()
    one, other = log(store), log(store)
    one.add(ENTRY)
    with pytest.raises(InvalidOptionError) as raised:
        other.add(TrackedMetadata.of("t-1", 8, METADATA, Protocol(1, 2), "other"))
    assert raised.value.error_class == "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT"


def test_the_folder_of_a_log_has_the_tables_id_and_the_sources():
    assert log_location("/c/", "t-1", None) == "/c/_schema_log_t-1"
    assert log_location("/c", "t-1", "left") == "/c/_schema_log_t-1_left"
