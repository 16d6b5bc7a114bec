# SPDX-License-Identifier: Apache-2.0
"""Clustered tables in the log: made, written to, replaced, read back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bayou.errors import InvalidSchemaError
from bayou.log.operations.create import first_actions
from bayou.log.snapshot.clustering import clustering_columns, logical_clustering, physical_clustering, replaced_clustering
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Protocol
from bayou.protocol.columns.clustering import clustering_domain
from bayou.protocol.features.protocol_rules import merged
from bayou.protocol.types.schema import StructField, StructType, parse_schema
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

SCHEMA = StructType((StructField("id", "long"), StructField("s", StructType((StructField("x", "string"),)))))
COLUMNS = (("s", "x"), ("id",))


def first(cluster_by=COLUMNS, *, partition_by=(), schema=SCHEMA, **settings):
    return first_actions(schema, partition_by, settings, table="t", cluster_by=cluster_by)


def made(*actions):
    """A log whose first version is these actions."""
    builder = TableBuilder(store=MemoryStore())
    builder.log().transaction("CREATE TABLE").commit(actions)
    return builder


def test_a_clustered_table_is_made_with_its_feature_and_its_domain():
    actions = first((("S", "X"), ("ID",)))
    assert actions.cluster_by == COLUMNS
    assert actions.protocol == Protocol(1, 7, None, ("appendOnly", "invariants", "clustering", "domainMetadata"))
    assert actions.actions == (actions.protocol, actions.metadata, clustering_domain(COLUMNS, SCHEMA))
    snapshot = made(*actions.actions).log().snapshot()
    assert logical_clustering(snapshot) == COLUMNS
    assert clustering_columns(snapshot) == ["s.x", "id"]


def test_a_table_can_be_clustered_by_nothing_yet():
    snapshot = made(*first(()).actions).log().snapshot()
    assert "clustering" in snapshot.protocol.writer_features
    assert (logical_clustering(snapshot), clustering_columns(snapshot)) == ((), [])


def test_a_table_that_is_not_clustered_has_neither_feature_nor_domain():
    actions = first(None)
    assert (actions.protocol, actions.domains) == (Protocol(1, 2), ())
    snapshot = made(*actions.actions).log().snapshot()
    assert (physical_clustering(snapshot), logical_clustering(snapshot), clustering_columns(snapshot)) == (None, None, [])


def test_a_table_that_maps_columns_keeps_their_physical_names():
    actions = first_actions(SCHEMA, (), {"delta.columnMapping.mode": "name"}, table="t", cluster_by=COLUMNS)
    snapshot = made(*actions.actions).log().snapshot()
    schema = snapshot.schema
    inner = schema.field("s").type.field("x")
    physical = ((schema.field("s").physical_name, inner.physical_name), (schema.field("id").physical_name,))
    assert physical_clustering(snapshot) == physical != COLUMNS
    assert clustering_columns(snapshot) == ["s.x", "id"]


@pytest.mark.parametrize(
    ("cluster_by", "partition_by", "error_class"),
    [
        ((("id",),), ("id",), "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY"),
        ((("nope",),), (), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ((("s",),), (), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
    ],
)
def test_a_table_that_cannot_be_clustered_so_is_not_made(cluster_by, partition_by, error_class):
    with pytest.raises(InvalidSchemaError) as caught:
        first(cluster_by, partition_by=partition_by)
    assert caught.value.getErrorClass() == error_class


def test_a_char_column_clusters_as_the_string_that_it_is():
    assert first((("c",),), schema=StructType((StructField("c", "char(3)"),))).cluster_by == (("c",),)


def test_a_clustered_table_takes_rows_and_keeps_its_columns_through_a_checkpoint():
    builder = made(*first().actions)
    builder.log().transaction("WRITE").commit([AddFile("a", {}, 1, 1)])
    builder.log().checkpoint()
    builder.log().transaction("WRITE").commit([AddFile("b", {}, 1, 1)])
    snapshot = builder.log().snapshot()
    assert (snapshot.num_files, logical_clustering(snapshot)) == (2, COLUMNS)


def test_a_commit_that_would_partition_a_clustered_table_is_refused():
    builder = made(*first(()).actions)
    partitioned = replace(builder.log().snapshot().metadata, partition_columns=("id",))
    with pytest.raises(InvalidSchemaError) as caught:
        builder.log().transaction("WRITE").commit([partitioned])
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"
    assert builder.log().version() == 0


REPLACEMENTS = {
    "by other columns": (COLUMNS, (("id",),), ["id"]),
    "by the same columns": (COLUMNS, COLUMNS, None),
    "by a table that is not clustered": (COLUMNS, None, []),
    "of a table by nothing": ((), None, None),
    "of a table that was not clustered": (None, (("id",),), ["id"]),
    "by nothing of a table that was not clustered": (None, (), []),
    "without clustering at all": (None, None, None),
}


@pytest.mark.parametrize("what", REPLACEMENTS)
def test_a_replaced_table_gets_the_new_columns_or_none(what):
    before, after, found = REPLACEMENTS[what]
    builder = made(*first(before).actions)
    snapshot = builder.log().snapshot()
    new = first(after)
    domains = replaced_clustering(snapshot, new.metadata, new.cluster_by)
    assert (domains == ()) == (found is None)
    assert not any(each.removed for each in domains)
    actions = [merged(snapshot.protocol, new.protocol), new.metadata, *domains]
    builder.log().transaction("REPLACE TABLE", replaces_table=True).commit(actions)
    replaced = builder.log().snapshot()
    expected = clustering_columns(snapshot) if found is None else found
    assert clustering_columns(replaced) == expected
    assert ("clustering" in (replaced.protocol.writer_features or ())) == (before is not None or after is not None)


def test_new_physical_names_of_the_same_columns_are_written():
    mapping = {"delta.columnMapping.mode": "name"}
    builder = made(*first_actions(SCHEMA, (), mapping, table="t", cluster_by=COLUMNS).actions)
    new = first_actions(SCHEMA, (), mapping, table="t", cluster_by=COLUMNS)
    (domain,) = replaced_clustering(builder.log().snapshot(), new.metadata, new.cluster_by)
    assert domain == clustering_domain(COLUMNS, parse_schema(new.metadata.schema_string))


def test_a_clustered_table_is_not_replaced_by_a_partitioned_one():
    snapshot = made(*first().actions).log().snapshot()
    with pytest.raises(InvalidSchemaError) as caught:
        replaced_clustering(snapshot, first(None, partition_by=("id",)).metadata, None)
    assert caught.value.getErrorClass() == "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE"
    assert (caught.value.table, caught.value.version) == (snapshot.table_uri, 0)


def test_a_domain_of_a_table_without_the_feature_is_shown_and_binds_nobody():
    protocol = Protocol(1, 7, None, ("appendOnly", "invariants", "domainMetadata"))
    actions = first(None)
    domain = DomainMetadata("delta.clustering", '{"clusteringColumns":[["id"]]}')
    snapshot = made(protocol, actions.metadata, domain).log().snapshot()
    assert (clustering_columns(snapshot), physical_clustering(snapshot)) == (["id"], None)
