# SPDX-License-Identifier: Apache-2.0
"""Find the keys in a resolved condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations.plans import id_of
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def only_of(application: Application, found: JavaObject, ids: frozenset[int]) -> bool:
    """Whether an expression is deterministic, reads at least one column, and reads only columns with some expression ids."""
    if not nodes.is_deterministic(found):
        return False
    references = nodes.references_of(jvm_of(application), found)
    return bool(references) and all(id_of(each) in ids for each in references)
