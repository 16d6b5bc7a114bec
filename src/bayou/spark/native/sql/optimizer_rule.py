# SPDX-License-Identifier: Apache-2.0
"""Answer bayou's optimizer rule, which replaces tables in a plan by scans of their files, and statements by commands.

The Java classes `bayou.Rule` and `bayou.AnalyzerRule` walk the plan. They ask `RuleBody` for each replacement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import failed
from bayou.log.checkpoint.sharding import narrowed
from bayou.log.commit.active_transactions import note_read
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.plan.predicates.predicate import Predicate, columns
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst
from bayou.spark.jvm.core.messages import Message
from bayou.spark.jvm.core.session import is_about_delta, partitions_lost, path_in, table_in
from bayou.spark.jvm.relations.create_like import NAME as LIKE
from bayou.spark.jvm.relations.plans import class_name, replacement
from bayou.spark.native.dml.commands import OPERATIONS, command_of
from bayou.spark.native.merge.statement import merge_command
from bayou.spark.native.scan import metadata_query
from bayou.spark.native.scan.change_plan import planned_changes
from bayou.spark.native.scan.row_id_metadata import asks_for_row_ids, with_row_ids
from bayou.spark.native.scan.scan import Scan
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.sql.constraint_statements import ConstraintStatements
from bayou.spark.native.sql.create_like import like_command
from bayou.spark.native.sql.functions.log_rows import WantedRows, planned_rows
from bayou.spark.native.sql.show import SHOW_COLUMNS, SHOW_PARTITIONS, columns_of, partitions_of
from bayou.spark.read.change_request import PinnedChanges
from bayou.spark.read.change_scan import FEED_NAMES, changes_at
from bayou.spark.read.reader import check_has_columns
from bayou.spark.read.request import RelationRequest, is_table
from bayou.spark.scan.file_metadata import is_file_metadata
from bayou.spark.scan.pruning import choose
from bayou.spark.table.refused_commands import refused_command, refused_on_path, refuses
from bayou.spark.types.types import incompatible

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class _Chain:
    """A table in a plan, and the nodes directly above it whose filter, limit or aggregate the scan may use.

    Attributes:
        transactions: the ids of the transactions around the query.
        kinds: the names of the nodes, from the top down to the table's.
        table: the request of the table's relation, as JSON.
        version: the version at which the query already reads this table; empty if it is not decided.
        schema: JSON of the table's columns that the query uses.
        condition: JSON of the filter directly above the table, or empty.
    """

    transactions: str
    kinds: str
    table: str
    version: str
    schema: str
    condition: str


class RuleBody:
    """Answers the optimizer rule. Runs nothing, because EXPLAIN plans too."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, facts: str, objects: Any) -> Any:
        """Answer a call of `bayou.Rule` or `bayou.AnalyzerRule`."""
        message = Message.decode(facts)
        match message.word:
            case "scan":
                return self._scan(_Chain(*message.texts), objects)
            case "rows":
                return self._rows(*message.texts, session=objects[0])
            case "change":
                return self._change(message.texts[0], objects[0])
            case "constraint":
                return ConstraintStatements(self._application).of_node(objects[0])
            case "command":
                return self._command(objects[0])
        raise message.unknown()

    def _rows(self, request: str, version: str, condition: str, limit: str, *used: str, session: JavaObject) -> JavaObject:
        rows = WantedRows.of(condition, limit, list(used))
        plan, version = planned_rows(self._application, session, request, version, rows)
        return replacement(jvm_of(self._application), 0, plan, version)

    def _scan(self, chain: _Chain, objects: Any) -> JavaObject:
        """Return the scan of a table, or a result from the log alone if it answers the aggregate above the table.

        Args:
            objects: the nodes of the chain in the JVM, and the session.
        """
        request = RelationRequest.of_json(chain.table)
        session = objects[1]
        if request.changes is not None:
            return self._changes(chain, request, request.changes, session)
        version = int(chain.version) if chain.version else request.version
        snapshot = self._application.snapshot(request.path, request.storage_options, version, chain.transactions)
        if request.partition:
            zone = self._application.backend.time_zone(session)
            snapshot = PartitionFolder(request.path, request.partition).files_of(snapshot, zone)
        kinds = chain.kinds.split(" ")
        fields = parse_schema(chain.schema).fields
        data_fields = [f for f in fields if not is_file_metadata(f)]
        metadata = next((f.type for f in fields if is_file_metadata(f)), None)
        check_has_columns(snapshot)
        _check_schema(data_fields, snapshot)
        predicate = from_catalyst([chain.condition], by_logical_name(snapshot.schema)) if chain.condition else None
        if request.version is None:
            whole = snapshot
            note_read(
                whole,
                predicate,
                lambda: None if predicate is None else choose(self._application, session, whole, predicate),
                chain.transactions,
            )
        jvm = jvm_of(self._application)
        if predicate is not None and columns(predicate):
            snapshot = narrowed(snapshot, predicate)
        if "Aggregate" in kinds:
            answer = metadata_query.answer(self._application, session, snapshot, list(objects[0]), kinds[:-1])
            if answer is not None:
                return replacement(jvm, *answer, str(snapshot.version))
        metadata_names = [f.name for f in metadata.fields] if isinstance(metadata, StructType) else None
        positions = self._positions(snapshot, predicate, kinds, objects)
        scan = Scan(
            self._application,
            session,
            snapshot,
            data_fields,
            positions=positions,
            options=request.storage_options,
            rewrites=request.reads_every_file,
        )
        if metadata_names and asks_for_row_ids(metadata_names):
            planned = with_row_ids(scan, metadata_names)
        else:
            planned = replace(scan, metadata=metadata_names).planned()
        names_in_plan = iter(planned.columns)
        names = [planned.columns[-1] if is_file_metadata(f) else next(names_in_plan) for f in fields]
        place, read = len(kinds) - 1, str(snapshot.version)
        return replacement(jvm, place, planned.plan, read, names=names, pushes_down=planned.is_union)

    def _changes(self, chain: _Chain, request: RelationRequest, pinned: PinnedChanges, session: JavaObject) -> JavaObject:
        """Return the scan of the change data feed, up to the latest version that the query sees."""
        version = int(chain.version) if chain.version else None
        latest = self._application.snapshot(request.path, request.storage_options, version, chain.transactions)
        changes = changes_at(self._application, pinned, latest, request.storage_options)
        fields = parse_schema(chain.schema).fields
        data_fields = [f for f in fields if not is_file_metadata(f) and f.name not in FEED_NAMES]
        _check_schema(data_fields, changes.feed.snapshot)
        metadata = next((f.type.names for f in fields if is_file_metadata(f) and isinstance(f.type, StructType)), None)
        planned = planned_changes(changes, self._application, session, data_fields, metadata)
        names_in_plan = iter(planned.columns)
        names = [
            f.name if f.name in FEED_NAMES else planned.columns[-1] if is_file_metadata(f) else next(names_in_plan) for f in fields
        ]
        place, jvm = len(chain.kinds.split(" ")) - 1, jvm_of(self._application)
        return replacement(jvm, place, planned.plan, str(latest.version), names=names, pushes_down=planned.is_union)

    def _positions(self, snapshot: Snapshot, predicate: Predicate | None, kinds: list[str], objects: Any) -> pa.Array | None:
        """Return the positions of the files that the filter or the limit needs, or None for all files."""
        if predicate is not None:
            return choose(self._application, objects[1], snapshot, predicate)
        if "LocalLimit" in kinds:
            limit = metadata_query.limit(list(objects[0]), kinds[:-1])
            return metadata_query.take_until(snapshot, limit) if limit is not None else None
        return None

    def _change(self, kind: str, statement: JavaObject) -> JavaObject:
        if kind in OPERATIONS:
            return command_of(self._application, statement)
        return merge_command(self._application, statement)

    def _command(self, plan: JavaObject) -> JavaObject:
        """Return the replacement of one of Spark's commands, or refuse it if it would change a Delta table without a commit."""
        kind = class_name(plan)
        if kind == SHOW_COLUMNS:
            return columns_of(self._application, plan)
        if kind == SHOW_PARTITIONS:
            return partitions_of(self._application, plan)
        if kind == LIKE:
            command = like_command(self._application, plan)
            if command is not None:
                return command
        if kind == "CreateDataSourceTableAsSelectCommand":
            _refuse_lost_partitions(plan)
            return plan
        path = path_in(plan)
        if path is not None and is_table(path) and refuses(kind):
            raise refused_on_path(kind, path)
        if (path is not None and is_table(path)) or is_about_delta(jvm_of(self._application), plan):
            raise refused_command(kind)
        return plan


def _refuse_lost_partitions(command: JavaObject) -> None:
    """Refuse a partitioned table that Spark creates without bayou's catalog: its log would have no partition columns."""
    columns = partitions_lost(command)
    if columns:
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/lost-partitions",
            table=table_in(command),
            columns=columns,
            features=["partitioned tables by name without bayou's catalog"],
        )


def _check_schema(fields: list[StructField], snapshot: Snapshot) -> None:
    problems = list(incompatible(fields, snapshot.schema))
    if problems:
        raise failed("DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS", at=snapshot, differences="; ".join(problems))
