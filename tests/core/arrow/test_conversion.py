# SPDX-License-Identifier: Apache-2.0
"""Which column of a file is which column of the table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bayou.arrow.conversion import Conversion
from bayou.protocol.types.schema import FIELD_ID, StructField


class Fields(list):
    """A file's columns, which count how often they are looked through."""

    rounds = 0

    def __iter__(self):
        self.rounds += 1
        return super().__iter__()


def numbered(name, number):
    return pa.field(name, pa.int64(), metadata={b"PARQUET:field_id": str(number).encode()})


def test_a_column_is_found_by_its_exact_name_before_other_cases_and_the_first_of_several():
    fields = [pa.field(name, pa.int64()) for name in ("A", "a", "a", "b", "B")]
    wanted = [StructField(name, "long") for name in ("a", "A", "B", "c")]
    assert Conversion(by_id=False).places(fields, wanted) == [1, 0, 4, None]
    assert Conversion(by_id=False).places(fields[3:4], wanted[2:3]) == [0]


def test_a_column_is_found_by_its_id_alone():
    wanted = [StructField("a", "long", metadata={FIELD_ID: 2}), StructField("b", "long", metadata={FIELD_ID: 9})]
    assert Conversion(by_id=True).places([numbered("a", 1), numbered("b", 2), numbered("c", 2)], wanted) == [1, None]
    assert Conversion(by_id=True).places([pa.field("a", pa.int64())], [StructField("a", "long")]) == [None]


@pytest.mark.parametrize("by_id", [True, False])
def test_many_columns_are_looked_through_once(by_id):
    fields = Fields(numbered(f"c{number}", number) for number in range(50))
    wanted = [StructField(f"c{number}", "long", metadata={FIELD_ID: number}) for number in range(50)]
    assert Conversion(by_id=by_id).places(fields, wanted) == list(range(50))
    assert fields.rounds == 1
