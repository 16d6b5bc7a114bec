# SPDX-License-Identifier: Apache-2.0
"""Clustering columns: the domain as delta-spark writes it, and what columns a table can be clustered by."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidOptionError, InvalidSchemaError, SchemaMismatchError
from bayou.protocol.actions.actions import DomainMetadata, Metadata, Protocol
from bayou.protocol.columns.clustering import (
    CLUSTERING_DOMAIN,
    clustering_domain,
    logical_columns,
    names_of,
    parse_columns,
    physical_columns,
)
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.types.schema import ArrayType, StructField, StructType, schema_to_json

INNER = StructType((StructField("x", "double"), StructField("Y.z", "string"), StructField("b", "binary")))
SCHEMA = StructType(
    (
        StructField("id", "long"),
        StructField("s", INNER),
        StructField("flag", "boolean"),
        StructField("v", "variant"),
        StructField("list", ArrayType("long", True)),
        StructField("nothing", "void"),
        StructField("d", "decimal(10,2)"),
        StructField("at", "timestamp_ntz"),
        StructField("day", "date"),
    )
)
RULES = ClusteringRules("t", 3)
CLUSTERED = Protocol(1, 7, None, ("clustering", "domainMetadata"))


def table(schema=SCHEMA, *, partitions=(), **configuration):
    properties = {f"delta.{key}": value for key, value in configuration.items()}
    return Metadata("id", schema_to_json(schema), partition_columns=partitions, configuration=properties)


def mapped(schema, prefix="col"):
    """The schema with a physical name for each field, at any depth."""
    return StructType(
        tuple(
            replace(
                each,
                type=mapped(each.type, prefix) if isinstance(each.type, StructType) else each.type,
                metadata={"delta.columnMapping.physicalName": f"{prefix}-{each.name.replace('.', '-')}"},
            )
            for each in schema.fields
        )
    )


def domains(*paths):
    configuration = json.dumps({"clusteringColumns": [list(path) for path in paths]})
    return {CLUSTERING_DOMAIN: DomainMetadata(CLUSTERING_DOMAIN, configuration)}


def test_the_domain_is_written_as_delta_spark_writes_it():
    domain = clustering_domain((("id",), ("s", "x")), SCHEMA)
    assert domain.domain == "delta.clustering"
    assert domain.configuration == '{"clusteringColumns":[["id"],["s","x"]],"domainName":"delta.clustering"}'
    assert not domain.removed
    assert clustering_domain((), SCHEMA).configuration == '{"clusteringColumns":[],"domainName":"delta.clustering"}'


def test_the_domain_holds_physical_names_which_a_rename_leaves():
    schema = mapped(SCHEMA)
    domain = clustering_domain((("s", "Y.z"), ("id",)), schema)
    assert json.loads(domain.configuration)["clusteringColumns"] == [["col-s", "col-Y-z"], ["col-id"]]
    physical = physical_columns({domain.domain: domain})
    assert logical_columns(physical, schema) == (("s", "Y.z"), ("id",))
    renamed = StructType((replace(schema.fields[0], name="number"), *schema.fields[1:]))
    assert logical_columns(physical, renamed) == (("s", "Y.z"), ("number",))


@given(
    st.permutations([("id",), ("s", "x"), ("s", "Y.z"), ("d",), ("at",), ("day",)]).flatmap(
        lambda paths: st.integers(0, 4).map(lambda count: tuple(paths[:count]))
    ),
    st.booleans(),
)
def test_columns_come_back_from_the_domain_and_from_their_names(columns, maps):
    schema = mapped(SCHEMA) if maps else SCHEMA
    assert RULES.checked(columns, table(schema)) == columns
    domain = clustering_domain(columns, schema)
    assert logical_columns(physical_columns({domain.domain: domain}), schema) == columns
    assert parse_columns(names_of(columns)) == columns


@given(st.lists(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=3).map(tuple), max_size=4).map(tuple))
def test_names_are_shown_so_that_they_are_read_back(columns):
    assert parse_columns(names_of(columns)) == columns


def test_names_have_backticks_where_spark_shows_them():
    paths = (("a_1",), ("s", "x y"), ("a.b",), ("12",), ("a`b",), ("ü",))
    assert names_of(paths) == ["a_1", "s.`x y`", "`a.b`", "`12`", "`a``b`", "`ü`"]


@pytest.mark.parametrize("text", ["a, b", "", "a..b", "`a"])
def test_a_text_that_is_not_one_column_is_refused(text):
    with pytest.raises(InvalidOptionError):
        parse_columns([text])


@pytest.mark.parametrize(
    ("configuration", "removed"),
    [("{", False), ("{}", False), ("[]", False), ('{"clusteringColumns":7}', False), ('{"clusteringColumns":[["id"]]}', True)],
)
def test_a_domain_that_says_nothing_leaves_a_table_unclustered(configuration, removed):
    assert physical_columns({CLUSTERING_DOMAIN: DomainMetadata(CLUSTERING_DOMAIN, configuration, removed)}) is None
    assert physical_columns({}) is None


def test_a_column_that_the_schema_does_not_have_is_shown_as_the_log_names_it():
    assert logical_columns(physical_columns(domains(["gone", "x"], ["ID"], [])), SCHEMA) == (("gone", "x"), ("id",), ())


def test_columns_get_the_schemas_spelling():
    assert RULES.checked((("ID",), ("S", "y.Z")), table()) == (("id",), ("s", "Y.z"))
    assert RULES.checked((), table()) == ()


def refused(columns, metadata=None, rules=RULES):
    with pytest.raises(InvalidSchemaError) as caught:
        rules.checked(columns, metadata or table())
    assert (caught.value.table, caught.value.version) == ("t", 3)
    return caught.value


@pytest.mark.parametrize(
    ("columns", "error_class", "sql_state", "named"),
    [
        ((("nope",),), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703", ("nope",)),
        ((("s", "nope"),), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703", ("s.nope",)),
        ((("list", "element"),), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703", ("list.element",)),
        ((("id",), ("s", "x"), ("ID",)), "DELTA_DUPLICATE_COLUMNS_FOUND", "42711", ("id",)),
        ((("flag",),), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", ("flag",)),
        ((("id",), ("s", "b"), ("v",)), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", ("s.b", "v")),
        ((("s",),), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", ("s",)),
        ((("list",),), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", ("list",)),
        ((("nothing",),), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", ("nothing",)),
    ],
)
def test_what_a_table_cannot_be_clustered_by_is_refused_by_name(columns, error_class, sql_state, named):
    error = refused(columns)
    assert error.getErrorClass().partition(".")[0] == error_class
    assert (error.sql_state, error.columns) == (sql_state, named)
    assert all(name in error.message for name in named)


def test_the_types_that_do_not_support_data_skipping_are_told():
    assert "v : VARIANT" in refused((("v",),)).message


def test_there_are_four_columns_at_most_unless_the_session_says_otherwise():
    columns = tuple((f"c{i}",) for i in range(6))
    metadata = table(StructType(tuple(StructField(path[0], "long") for path in columns)))
    assert RULES.checked(columns[:4], metadata) == columns[:4]
    error = refused(columns[:5], metadata)
    assert (error.getErrorClass(), error.sql_state) == ("DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", "54000")
    assert {"4", "5."} <= set(error.message.split())
    settings = {"spark.databricks.delta.clusteredTable.numClusteringColumnsLimit": "5"}
    assert ClusteringRules.of(settings, "t", 3).checked(columns[:5], metadata) == columns[:5]
    with pytest.raises(InvalidOptionError, match="numClusteringColumnsLimit"):
        ClusteringRules.of({next(iter(settings)): "many"}, "t")


def test_a_partitioned_table_is_not_clustered_not_even_by_nothing():
    for columns in ((), (("id",),)):
        error = refused(columns, table(partitions=("day",)))
        assert (error.getErrorClass(), error.sql_state) == ("DELTA_CLUSTER_BY_WITH_PARTITIONED_BY", "42613")


@pytest.mark.parametrize(
    ("configuration", "lacking"),
    [
        ({"dataSkippingNumIndexedCols": "2"}, ("s.`Y.z`", "d")),
        ({"dataSkippingNumIndexedCols": "0"}, ("id", "s.`Y.z`", "d")),
        ({"dataSkippingStatsColumns": "id,s.x"}, ("s.`Y.z`", "d")),
        ({"dataSkippingStatsColumns": "s,d"}, ("id",)),
    ],
)
@pytest.mark.parametrize("schema", [SCHEMA, mapped(SCHEMA)], ids=["logical", "physical"])
def test_a_column_without_statistics_is_refused_by_its_logical_name(configuration, lacking, schema):
    error = refused((("id",), ("s", "Y.z"), ("d",)), table(schema, **configuration))
    assert (error.getErrorClass(), error.sql_state) == ("DELTA_CLUSTERING_COLUMN_MISSING_STATS", "22000")
    assert error.columns == lacking


def test_the_thirty_third_column_has_no_statistics_of_its_own_accord():
    schema = StructType(tuple(StructField(f"c{i}", "long") for i in range(33)))
    assert RULES.checked((("c31",),), table(schema)) == (("c31",),)
    assert refused((("c32",),), table(schema)).columns == ("c32",)
    assert RULES.checked((("c32",),), table(schema, dataSkippingStatsColumns="c32")) == (("c32",),)


def test_a_change_that_takes_statistics_from_a_clustering_column_is_refused():
    physical = (("id",), ("s", "x"))
    RULES.check_statistics_kept(physical, table(), table(dataSkippingStatsColumns="s,id"))
    with pytest.raises(InvalidSchemaError) as caught:
        RULES.check_statistics_kept(physical, table(), table(dataSkippingStatsColumns="id"))
    assert (caught.value.getErrorClass(), caught.value.columns) == ("DELTA_CLUSTERING_COLUMN_MISSING_STATS", ("s.x",))
    last = StructType((*SCHEMA.fields[1:], SCHEMA.fields[0]))
    with pytest.raises(InvalidSchemaError):
        RULES.check_statistics_kept(physical, table(dataSkippingNumIndexedCols="2"), table(last, dataSkippingNumIndexedCols="2"))


def test_a_column_that_never_had_statistics_stands_in_no_changes_way():
    before, after = table(dataSkippingStatsColumns="id"), table(dataSkippingStatsColumns="id,d")
    RULES.check_statistics_kept((("s", "x"), ("id",)), before, after)
    with pytest.raises(InvalidSchemaError):
        RULES.check_statistics_kept((("s", "x"), ("id",)), before, table(dataSkippingStatsColumns="d"))


def test_a_write_must_name_the_tables_own_columns_in_their_order():
    RULES.check_same((("ID",), ("s", "X")), (("id",), ("s", "x")))
    RULES.check_same((), ())
    for given_columns, current in (
        ((("s", "x"), ("id",)), (("id",), ("s", "x"))),
        ((("id",),), ()),
        ((("id",),), None),
        ((), None),
        ((), (("id",),)),
    ):
        with pytest.raises(SchemaMismatchError) as caught:
            RULES.check_same(given_columns, current)
        assert (caught.value.getErrorClass(), caught.value.sql_state) == ("DELTA_CLUSTERING_COLUMNS_MISMATCH", "42P10")
    with pytest.raises(SchemaMismatchError) as caught:
        RULES.check_same((("id",),), None, described=True)
    assert (caught.value.getErrorClass(), caught.value.sql_state) == ("DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING", "42KD7")


def test_a_table_with_the_feature_never_has_partition_columns():
    RULES.check_not_partitioned(CLUSTERED, table())
    RULES.check_not_partitioned(Protocol(1, 2), table(partitions=("day",)))
    with pytest.raises(InvalidSchemaError) as caught:
        RULES.check_not_partitioned(CLUSTERED, table(partitions=("day",)))
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"


def test_alter_cluster_by_sets_the_columns_and_says_where_nothing_changes():
    new = RULES.altered((("ID",),), Protocol(1, 2), table(), None)
    assert physical_columns({new.domain: new}) == (("id",),)
    assert RULES.altered((("id",),), CLUSTERED, table(), (("id",),)) is None
    assert RULES.altered((("id",), ("d",)), CLUSTERED, table(), (("d",), ("id",))) is not None


def test_cluster_by_none_empties_the_list_of_a_clustered_table_and_leaves_others_alone():
    assert RULES.altered((), Protocol(1, 2), table(), None) is None
    emptied = RULES.altered((), CLUSTERED, table(), (("id",),))
    assert (physical_columns({emptied.domain: emptied}), emptied.removed) == ((), False)
    assert RULES.altered((), CLUSTERED, table(), ()) is None


def test_alter_cluster_by_is_refused_for_partitioned_tables_and_columns_that_do_not_do():
    with pytest.raises(InvalidSchemaError) as caught:
        RULES.altered((("id",),), Protocol(1, 2), table(partitions=("day",)), None)
    assert caught.value.getErrorClass() == "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED"
    with pytest.raises(InvalidSchemaError) as caught:
        RULES.altered((("flag",),), CLUSTERED, table(), (("id",),))
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"
