# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.log.checkpoint.part_hash import SEED, murmur3, part_of_others, parts_of

MASK = 0xFFFFFFFF


def rotated(word, bits):
    return ((word << bits) | (word >> (32 - bits))) & MASK


def mixed(state, word):
    word = rotated(word * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
    return (rotated(state ^ word, 13) * 5 + 0xE6546B64) & MASK


def finished(state, length):
    state ^= length
    state = (state ^ (state >> 16)) * 0x85EBCA6B & MASK
    state = (state ^ (state >> 13)) * 0xC2B2AE35 & MASK
    return state ^ (state >> 16)


def hash_of_bytes(data, seed):
    """Spark's hashUnsafeBytes: whole words, then single bytes with their sign."""
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        seed = mixed(seed, int.from_bytes(data[start : start + 4], "little"))
    for octet in data[whole:]:
        seed = mixed(seed, (octet - 256 if octet > 127 else octet) & MASK)
    return finished(seed, len(data))


def hash_of_int(value, seed):
    return finished(mixed(seed, value & MASK), 4)


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def words(values):
    return pa.array(values, pa.uint32())


def test_the_hash_is_that_of_the_example_in_spark_s_documentation():
    # SELECT hash('Spark', array(123), 2)
    text = murmur3(pa.array(["Spark"]), words([SEED]))[0].as_py()
    assert signed(hash_of_int(2, hash_of_int(123, text))) == -1321691492


TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=9), st.sampled_from(["", "part-é.parquet", "ÿ", "x" * 70])), max_size=12)


@given(TEXTS, st.integers(0, 3))
def test_many_texts_have_the_hashes_that_each_has_alone(texts, skipped):
    column = pa.array(texts, pa.string()).slice(skipped)
    seeds = [(7 * place + SEED) & MASK for place in range(len(column))]
    expected = [
        seed if text is None else hash_of_bytes(text.encode(), seed) for text, seed in zip(texts[skipped:], seeds, strict=True)
    ]
    assert murmur3(column, words(seeds)).to_pylist() == expected


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 1000])
def test_a_part_is_the_hash_of_the_path_and_of_the_deletion_vector_if_there_is_one(parts):
    paths = [f"day=2024-01-{number % 28:02d}/part-{number}.parquet" for number in range(200)]
    vectors = [None if number % 3 else f"uab^-aqEH.-t@S}}K{{vb[*k^@{number}" for number in range(200)]
    found = parts_of(pa.chunked_array([paths]), pa.chunked_array([vectors], pa.string()), parts).to_pylist()
    expected = []
    for path, vector in zip(paths, vectors, strict=True):
        state = hash_of_bytes(path.encode(), SEED)
        state = state if vector is None else hash_of_bytes(vector.encode(), state)
        expected.append(signed(state) % parts)
    assert found == expected
    assert len(set(found)) > min(parts, 100) // 2
    assert part_of_others(parts) == 42 % parts


def test_no_actions_have_no_parts():
    none = pa.chunked_array([], pa.string())
    assert parts_of(none, none, 3).to_pylist() == []
