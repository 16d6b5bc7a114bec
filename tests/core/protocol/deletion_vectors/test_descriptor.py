# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors: descriptors, the serialised bitmaps, the file around them, and damage."""

from __future__ import annotations

import struct
import zlib
from array import array
from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import DeletionVectorError
from bayou.protocol.deletion_vectors import roaring, z85
from bayou.protocol.deletion_vectors.descriptor import (
    Bitmap,
    Container,
    DeletionVectorDescriptor,
    decode,
    decode_inline,
    encode,
    encode_file,
    encode_inline,
    read_from_file,
)

# The example of PROTOCOL.md, "Deletion Vector Descriptor Schema".
EXAMPLE = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
INLINE_TEXT = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
INLINE = DeletionVectorDescriptor("i", INLINE_TEXT, None, 44, 6)
UUID_OF_FILE = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")

_BLOCKS = st.sampled_from([0, 1, 2, 5, 65_535, 65_536, 1 << 20, (1 << 47) - 1])
_LOWS = st.integers(0, 65_535)
_RANGES = st.tuples(_BLOCKS, _LOWS, st.integers(1, 9_000)).map(
    lambda x: {(x[0] << 16) + min(x[1] + i, 65_535) for i in range(x[2])}
)
_SPARSE = st.tuples(_BLOCKS, st.sets(_LOWS, max_size=50)).map(lambda x: {(x[0] << 16) + low for low in x[1]})
POSITIONS = st.lists(_RANGES | _SPARSE, max_size=5).map(lambda sets: sorted(set().union(*sets)))


def even_numbers(count):
    return range(0, 2 * count, 2)


@given(st.binary(max_size=40))
def test_z85_gives_back_what_it_was_given(data):
    assert z85.decode(z85.encode(data), len(data)) == data


@pytest.mark.parametrize(("text", "size"), [("abcd", None), ("abcd~", None), ("00000", 5), ("0000000000", 3)])
def test_z85_refuses_what_it_could_not_have_written(text, size):
    with pytest.raises(ValueError):
        z85.decode(text, size)


def test_z85_takes_padding_that_overflows_as_the_jvm_does():
    assert z85.decode("5c8Xg##093", 6)[:4] == z85.decode("5c8Xg", 4)


@given(POSITIONS)
def test_a_vector_gives_back_the_positions_that_it_was_given(positions):
    bitmap = decode(encode(positions))
    assert bitmap.to_list() == positions
    assert bitmap.cardinality == len(positions)
    assert bitmap.maximum == (positions[-1] if positions else None)


@given(POSITIONS, POSITIONS)
def test_a_union_has_the_positions_of_both(left, right):
    union = Bitmap.from_positions(left).union(Bitmap.from_positions(right))
    assert union.to_list() == sorted({*left, *right})
    assert decode(encode(union)).to_list() == union.to_list()


@given(POSITIONS, POSITIONS)
def test_a_difference_has_the_positions_of_the_first_that_the_second_lacks(left, right):
    first, second = Bitmap.from_positions(left), Bitmap.from_positions(right)
    difference = first.difference(second)
    assert difference.to_list() == sorted({*left} - {*right})
    assert decode(encode(difference)).to_list() == difference.to_list()
    assert difference.union(second).to_list() == first.union(second).to_list()


@given(POSITIONS)
def test_a_vector_without_itself_is_empty(positions):
    assert Bitmap.from_positions(positions).difference(Bitmap.from_positions(positions)).containers == ()


@given(POSITIONS)
def test_the_buffers_of_containers_hold_the_positions_in_little_endian(positions):
    found = []
    for container in Bitmap.from_positions(positions).containers:
        if container.kind == "bitmap":
            lows = [i for i in range(65_536) if container.data[i >> 3] >> (i & 7) & 1]
        else:
            words = struct.unpack(f"<{len(container.data) // 2}H", container.data)
            pairs = zip(words[::2], words[1::2], strict=True) if container.kind == "run" else ((low, 0) for low in words)
            lows = [low for start, more in pairs for low in range(start, start + more + 1)]
        assert len(lows) == container.cardinality
        found += [container.key << 16 | low for low in lows]
    assert found == positions


def test_each_kind_of_container_is_chosen_where_it_is_smallest():
    def kind(positions):
        return Bitmap.from_positions(positions).containers[0].kind

    assert kind(range(10_000)) == "run"
    assert kind(even_numbers(4_096)) == "array"
    assert kind(even_numbers(4_097)) == "bitmap"
    assert kind([7]) == "array"


def test_bits_become_the_smallest_container():
    assert Container.from_bits(3, bytes(8_192)) is None
    full = Container.from_bits(3, b"\xff" * 8_192)
    assert full is not None
    assert full.cardinality == 65_536
    few = Container.from_bits(3, b"\x05" + bytes(8_191))
    assert few is not None
    assert few.kind == "array"
    assert few.lows() == array("H", [0, 2])
    with pytest.raises(ValueError):
        Container.from_bits(3, b"")


@pytest.mark.parametrize("positions", [[-1], [1 << 63]])
def test_a_position_has_63_bits(positions):
    with pytest.raises(ValueError):
        encode(positions)


def native(positions, high=2):
    """The form of Delta's JVM code: bitmaps 0, 1, ... each with its length before it."""
    empty = encode([])
    portable = encode(positions)
    one = portable[16:]
    none = struct.pack("<II", 12_346, 0)
    assert len(empty) == 12
    bodies = [none] * high + [one]
    parts = [struct.pack("<II", roaring.NATIVE_MAGIC, len(bodies))]
    return b"".join([*parts, *(struct.pack("<I", len(body)) + body for body in bodies)])


def test_the_native_form_is_read_too():
    assert decode(native([1, 5, 70_000])).to_list() == [(2 << 32) + p for p in (1, 5, 70_000)]


def test_the_native_form_with_a_wrong_length_is_refused():
    damaged = bytearray(native([1], high=0))
    damaged[8] += 1
    with pytest.raises(DeletionVectorError, match="another length"):
        decode(bytes(damaged))


def test_the_inline_example_is_read():
    assert decode_inline(INLINE).to_list() == [3, 4, 7, 11, 18, 29]


@given(POSITIONS)
def test_an_inline_vector_gives_back_what_it_was_given(positions):
    descriptor = encode_inline(positions)
    assert descriptor.cardinality == len(positions)
    assert decode_inline(DeletionVectorDescriptor.from_json(descriptor.to_json())).to_list() == positions


def test_the_path_of_the_example_is_that_of_the_protocol():
    assert EXAMPLE.relative_path == f"ab/deletion_vector_{UUID_OF_FILE}.bin"
    assert EXAMPLE.absolute_uri("s3://mytable/") == f"s3://mytable/ab/deletion_vector_{UUID_OF_FILE}.bin"
    assert EXAMPLE.unique_id == "uab^-aqEH.-t@S}K{vb[*k^@4"


def test_an_absolute_path_is_taken_as_it_is():
    uri = f"s3://mytable/deletion_vector_{UUID_OF_FILE}.bin"
    descriptor = DeletionVectorDescriptor("p", uri, 4, 40, 6)
    assert descriptor.relative_path is None
    assert descriptor.absolute_uri("s3://other") == uri


def test_an_inline_vector_has_no_file_and_no_offset_in_its_id():
    assert INLINE.unique_id == "i" + INLINE_TEXT
    with pytest.raises(DeletionVectorError, match="inline"):
        INLINE.absolute_uri("s3://mytable")


@pytest.mark.parametrize("prefix", ["../", "..", ".", "a/b", "a\\", "file:"])
def test_a_folder_that_could_lead_elsewhere_is_refused(prefix):
    with pytest.raises(DeletionVectorError, match="folder"):
        _ = DeletionVectorDescriptor("u", prefix + z85.encode(UUID_OF_FILE.bytes), 1, 1, 1).relative_path


@pytest.mark.parametrize("text", ["", "short", "~" * 20])
def test_a_path_without_a_uuid_is_refused(text):
    with pytest.raises(DeletionVectorError, match="UUID"):
        _ = DeletionVectorDescriptor("u", text, 1, 1, 1).relative_path


def test_an_unknown_storage_type_is_refused():
    with pytest.raises(DeletionVectorError, match="storage type 'x'") as caught:
        DeletionVectorDescriptor("x", "", 1, 1, 1).absolute_uri("s3://t")
    assert (caught.value.error_class, caught.value.sql_state) == ("DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI", "22KD1")
    assert caught.value.next_step


def test_descriptors_leave_out_what_they_do_not_have():
    assert "offset" not in INLINE.to_json()
    assert DeletionVectorDescriptor.from_json(EXAMPLE.to_json()) == EXAMPLE


@pytest.mark.parametrize("value", [{}, {"storageType": "u"}, {**EXAMPLE.to_json(), "sizeInBytes": "x"}, [], None])
def test_a_damaged_descriptor_is_a_typed_error(value):
    with pytest.raises(DeletionVectorError):
        DeletionVectorDescriptor.from_json(value)


@given(st.lists(POSITIONS, min_size=1, max_size=4))
def test_several_vectors_share_a_file(vectors):
    data, descriptors = encode_file(vectors, UUID_OF_FILE, prefix="ab")
    assert data[0] == 1
    assert {descriptor.relative_path for descriptor in descriptors} == {f"ab/deletion_vector_{UUID_OF_FILE}.bin"}
    for positions, descriptor in zip(vectors, descriptors, strict=True):
        assert read_from_file(data, descriptor).to_list() == positions
        (size,) = struct.unpack_from(">I", data, descriptor.offset)
        body = data[descriptor.offset + 4 :][:size]
        assert struct.unpack_from(">I", data, descriptor.offset + 4 + size) == (zlib.crc32(body),)


def test_a_vector_without_an_offset_is_the_first_of_its_file():
    data, (first, _) = encode_file([[1], [2]], UUID_OF_FILE)
    without = DeletionVectorDescriptor("u", first.path_or_inline_dv, None, first.size_in_bytes, 1)
    assert read_from_file(data, without).to_list() == [1]


def damage(**changes):
    data, (descriptor,) = encode_file([[1, 2, 3]], UUID_OF_FILE)
    fields = {**descriptor.to_json(), **changes}
    return data, DeletionVectorDescriptor.from_json(fields)


def test_another_checksum_is_named_with_table_and_file():
    data, descriptor = damage()
    with pytest.raises(DeletionVectorError) as caught:
        read_from_file(data[:-1] + b"\0", descriptor, table="s3://t", file="x.bin")
    assert caught.value.error_class == "DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH"
    assert (caught.value.table, caught.value.file) == ("s3://t", "x.bin")
    assert caught.value.facts["descriptor"] == descriptor


def test_another_size_is_named():
    data, descriptor = damage(sizeInBytes=1)
    with pytest.raises(DeletionVectorError) as caught:
        read_from_file(data, descriptor)
    assert caught.value.error_class == "DELTA_DELETION_VECTOR_SIZE_MISMATCH"
    assert caught.value.facts["expected"] == 1


def test_another_cardinality_is_named():
    data, descriptor = damage(cardinality=4)
    with pytest.raises(DeletionVectorError) as caught:
        read_from_file(data, descriptor)
    assert caught.value.error_class == "DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH"
    assert (caught.value.facts["expected"], caught.value.facts["found"]) == (4, 3)


@pytest.mark.parametrize("changes", [{"offset": 0}, {"offset": -5}, {"offset": 10_000}, {"sizeInBytes": -1}])
def test_a_vector_outside_of_its_file_is_refused(changes):
    with pytest.raises(DeletionVectorError):
        read_from_file(*damage(**changes))


@pytest.mark.parametrize("first", [b"", b"\2"])
def test_another_version_of_the_file_is_refused(first):
    data, descriptor = damage()
    with pytest.raises(DeletionVectorError, match="version"):
        read_from_file(first + data[1:] if first else b"", descriptor)


@pytest.mark.parametrize("positions", [[1, 2, 3, 70_000], range(10_000), even_numbers(5_000), []])
def test_every_truncation_is_a_typed_error(positions):
    data = encode(positions)
    for end in range(0, len(data), max(1, len(data) // 200)):
        with pytest.raises(DeletionVectorError):
            decode(data[:end])
    with pytest.raises(DeletionVectorError, match="follow"):
        decode(data + b"\0")


@given(st.integers(0, 2**32), st.integers(0, 255))
def test_damage_is_noticed_or_gives_a_vector_and_nothing_else(place, byte):
    data = bytearray(encode([1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 70_000, *range(200_000, 200_100), 1 << 40]))
    data[place % len(data)] = byte
    with suppress(DeletionVectorError):
        decode(bytes(data)).to_list()


def test_a_wrong_magic_number_is_named():
    with pytest.raises(DeletionVectorError, match="magic"):
        decode(b"\0" * 12)


def test_keys_that_do_not_ascend_are_refused():
    data = encode([1, 1 << 32])
    one, two = data[12:34], data[34:]
    with pytest.raises(DeletionVectorError, match="ascend"):
        decode(data[:12] + two + one)
