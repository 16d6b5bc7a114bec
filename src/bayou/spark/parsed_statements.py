# SPDX-License-Identifier: Apache-2.0
"""Statements that bayou takes from the session's parser, before Spark's analyzer sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.constraint_statements import ConstraintStatements
from bayou.spark.dml.merge.statement import command_of_parsed

if TYPE_CHECKING:
    from bayou.spark.application import Application
    from bayou.spark.jvm.bridge import JavaObject


class ParsedStatements:
    """Makes commands of parsed statements, for one application; called by `bayou.Parser`. It runs none: EXPLAIN plans too."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._constraints = ConstraintStatements(application)

    def __call__(self, text: str, parsed: JavaObject | None) -> JavaObject | None:
        """The command for a statement; None leaves it to Spark.

        Args:
            text: the statement.
            parsed: the MergeIntoTable that it is, or explains; None where Spark's parser refused it.
        """
        return self._constraints.of_text(text) if parsed is None else command_of_parsed(self._application, parsed)
