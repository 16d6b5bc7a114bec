# SPDX-License-Identifier: Apache-2.0
"""The parameters of delta-spark 4.4's messages, by the facts that bayou's errors have."""

from __future__ import annotations

import pytest

from bayou import errors
from bayou.protocol.columns import constraints
from bayou.spark.errors.conversion import as_pyspark
from bayou.spark.errors.parameters import parameters_of


def unknown_constraint():
    constraints.drop_constraint({}, "c", table="file:///t/a")


def constraint_again():
    constraints.add_constraint({"delta.constraints.c": "a > 0"}, "C", "a > 1", table="file:///t/a")


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (errors.TableNotFoundError("x", table="/t/a", error_class="DELTA_MISSING_DELTA_TABLE"), {"tableName": "`/t/a`"}),
        (errors.TableNotFoundError("x", table="a.b", error_class="DELTA_MISSING_DELTA_TABLE"), {"tableName": "`a`.`b`"}),
        (errors.TableNotFoundError("x", table="file:///t/a"), {"tableName": "`/t/a`"}),
        (errors.TableNotFoundError("x", table="s3://b/t"), {"tableName": "`s3://b/t`"}),
        (errors.PathNotFoundError("x", table="file:///t/a"), {"path": "/t/a"}),
        (errors.TableExistsError("x", table="file:///t/a"), {"path": "file:/t/a"}),
        (errors.TableExistsError("x", table="s3://b/t"), {"path": "s3://b/t"}),
        (errors.VersionNotFoundError("x", version=-1, earliest=0, latest=3), {"userVersion": "-1", "earliest": "0", "latest": "3"}),
        (errors.InvalidOptionError("x", option="delta.nope"), {"name": "delta.nope"}),
        (errors.InvalidSchemaError("x"), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_facts_of_an_error_have_the_names_of_delta_sparks_messages(error, wanted):
    assert parameters_of(error) == wanted
    assert as_pyspark(error).getMessageParameters() == wanted


@pytest.mark.parametrize(
    ("fail", "wanted"),
    [
        (
            unknown_constraint,
            {
                "constraintName": "c",
                "tableName": "`/t/a`",
                "config": "spark.databricks.delta.constraints.assumesDropIfExists.enabled",
                "confValue": "true",
            },
        ),
        (constraint_again, {"constraintName": "C", "oldConstraint": "a > 0"}),
    ],
    ids=["unknown", "again"],
)
def test_the_parameters_of_constraints_are_those_of_the_table(fail, wanted):
    with pytest.raises(errors.InvalidSchemaError) as caught:
        fail()
    assert parameters_of(caught.value) == wanted
