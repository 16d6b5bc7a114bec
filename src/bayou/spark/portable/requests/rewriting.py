# SPDX-License-Identifier: Apache-2.0
"""Rewrite the requests of one client that hold a plan, or answer them."""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql.connect import proto

from bayou.spark.portable.requests.cached import CachedFrame
from bayou.spark.portable.requests.compression import change_plan
from bayou.spark.portable.requests.execution import Execution
from bayou.spark.portable.requests.frames import frame_of
from bayou.spark.portable.requests.observed import ObservedMetrics
from bayou.spark.portable.requests.relations import Relations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from bayou.spark.portable.requests.aliases import Aliases
    from bayou.spark.portable.requests.answers import Answers


_STARTS_STREAM: Final = "write_stream_operation_start"
_WRITES: Final = ("write_operation", "write_operation_v2", "merge_into_table_command")


class Rewriter:
    """Changes the requests of one client in place. Threads share it.

    Attributes:
        relations: what replaces relations.
    """

    def __init__(self, spark: SparkSession, answers: Answers) -> None:
        self.relations = Relations(spark, answers)
        self._spark = spark
        self._of_thread = threading.local()

    @property
    def observed(self) -> ObservedMetrics | None:
        """The metrics of the command that this thread answers, if it answers one that observes any."""
        return getattr(self._of_thread, "observed", None)

    def execute(self, request: proto.ExecutePlanRequest) -> Execution:
        """Rewrite a request that runs a query or a command, or answer it.

        Raises:
            Exception: what `Answers` raises.
        """
        execution = Execution()
        with self._aliases(execution) as aliases:
            change_plan(request.plan, lambda plan: self._change(plan, execution, aliases))
        return execution

    def analyze(self, request: proto.AnalyzePlanRequest) -> Execution:
        """Rewrite a request about a plan, such as for its schema.

        Raises:
            Exception: what `Answers` raises.
        """
        execution = Execution()
        kind = request.WhichOneof("analyze")
        if kind is None:
            return execution
        original = proto.Relation()
        if kind in ("persist", "unpersist"):
            original.CopyFrom(getattr(request, kind).relation)
        # Otherwise a view in it might be replaced above the cached rows.
        names_view = kind == "persist" and self.relations.views.note_persisted(original)
        with self._aliases(execution) as aliases:
            changed = False
            for _, part in getattr(request, kind).ListFields():
                if isinstance(part, proto.Plan):
                    change_plan(part, lambda plan: self.relations.replace_in(plan, aliases))
                elif isinstance(part, proto.Relation):
                    changed = self.relations.replace_in(part, aliases)
        if kind == "unpersist":
            execution.when_done(lambda: self.relations.cached.drop(original.common.plan_id))
        elif kind == "persist" and (changed or names_view) and original.common.HasField("plan_id"):
            persist = request.persist
            level = persist.storage_level if persist.HasField("storage_level") else None
            frame = CachedFrame(original, persist.relation, level, tuple(aliases.names))
            execution.when_done(lambda: self.relations.cached.add(frame))
        return execution

    def renew_cached(self) -> None:
        """Cache again those DataFrames that the program cached and whose tables have a new version.

        A commit of a classic session does so. Without it, a cached DataFrame keeps its rows until the program drops it.
        """
        for old in self.relations.cached.frames():
            execution = Execution()
            with self._aliases(execution) as aliases:
                sent = proto.Relation()
                sent.CopyFrom(old.original)
                # Otherwise it would be replaced by what is cached.
                self.relations.cached.drop(old.original.common.plan_id)
                kept = old
                try:
                    self.relations.replace_in(sent, aliases)
                    new = CachedFrame(old.original, sent, old.level, tuple(aliases.names))
                    self._cache_again(old, new)
                    kept = new
                finally:
                    self.relations.cached.add(kept)
            execution.done()

    def drop_cached(self, is_meant: Callable[[proto.Relation], bool]) -> None:
        """Let the server drop the DataFrames that the program cached and whose relations are meant."""
        for each in self.relations.cached.frames():
            if is_meant(each.original):
                frame_of(self._spark, each.original).unpersist()

    def _change(self, plan: proto.Plan, execution: Execution, aliases: Aliases) -> bool:
        """Change an open plan, and say whether it changed."""
        if plan.WhichOneof("op_type") != "command":
            return self.relations.replace_in(plan, aliases)
        command = plan.command
        kind = command.WhichOneof("command_type")
        if kind is not None and kind.startswith("register_"):
            self.relations.views.note_change()
        if kind == "sql_command":
            return self._change_sql(command, execution, aliases)
        # A write resolves the tables in its rows when its transaction has begun: later commits to them are then conflicts.
        if kind in _WRITES and self._is_answered(command, execution):
            return False
        created = None
        if kind == "create_dataframe_view":
            created = proto.CreateDataFrameViewCommand()
            created.CopyFrom(command.create_dataframe_view)
        if kind == _STARTS_STREAM:
            with self.relations.answers.starting(command.write_stream_operation_start) as when_started:
                changed = self.relations.replace_in(command, aliases)
            execution.when_started = when_started
        else:
            changed = self.relations.replace_in(command, aliases)
        before = command.SerializeToString(deterministic=True) if kind == _STARTS_STREAM else b""
        if kind not in _WRITES and not self._is_answered(command, execution) and created is not None:
            original, sent = created, command.create_dataframe_view
            execution.when_done(lambda: self.relations.views.created(original, sent, replaced=changed))
        return changed or (kind == _STARTS_STREAM and command.SerializeToString(deterministic=True) != before)

    def _change_sql(self, command: proto.Command, execution: Execution, aliases: Aliases) -> bool:
        given = command.sql_command.input
        self.relations.views.note_statement(given.with_relations.root.sql.query or given.sql.query)
        if self._is_answered(command, execution):
            return False
        original = proto.Relation()
        original.CopyFrom(command.sql_command.input)
        changed = self.relations.replace_in_statement(command.sql_command.input, aliases)
        if changed:
            execution.original = original
        text = original.with_relations.root.sql.query or original.sql.query
        if self.relations.views.may_be_changed_by(text):
            execution.when_done(lambda: self.relations.views.changed_by(text))
        if self.relations.cached.is_cleared_by(text):
            execution.when_done(self.relations.cached.clear)
        return changed

    def _is_answered(self, command: proto.Command, execution: Execution) -> bool:
        observed = ObservedMetrics(command)
        outer, self._of_thread.observed = self.observed, observed or None
        try:
            with _garbage_collection():
                answer = self.relations.answers.command(command)
        finally:
            self._of_thread.observed = outer
        if answer is None:
            return False
        execution.answer = answer
        execution.command = command
        execution.observed = observed
        return True

    @contextmanager
    def _aliases(self, execution: Execution) -> Iterator[Aliases]:
        """Names for a request, which others may have when it is done."""
        pool = self.relations.aliases
        aliases = pool.take()
        with self.relations.answers.of_one_version():
            yield aliases
        if aliases.names:
            execution.when_done(lambda: pool.give_back(aliases))
        else:
            pool.give_back(aliases)

    def _cache_again(self, old: CachedFrame, new: CachedFrame) -> None:
        before = frame_of(self._spark, old.sent)
        after = frame_of(self._spark, new.sent)
        with self.relations.untouched():
            if before.sameSemantics(after):
                return
            before.unpersist()
            level = new.level
            if level is None:
                after.persist()
            else:
                kept = (level.use_disk, level.use_memory, level.use_off_heap, level.deserialized, level.replication)
                after.persist(StorageLevel(*kept))


@contextmanager
def _garbage_collection() -> Iterator[None]:
    """Let Python collect garbage. PySpark forbids it while it calls a server, and the command of a client may take hours."""
    was_off = not gc.isenabled()
    if was_off:
        gc.enable()
    try:
        yield
    finally:
        if was_off:
            gc.disable()
