# SPDX-License-Identifier: Apache-2.0
"""A table's protocol raised: to versions, or by a feature.

Source: delta-spark's `DeltaTable.upgradeTableProtocol` and `addFeatureSupport`; the history calls both SET TBLPROPERTIES.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.protocol import properties
from bayou.spark.alter.metadata_actions import check_argument
from bayou.spark.alter.properties import set_properties

if TYPE_CHECKING:
    from bayou.spark.read.session_table import SessionTable


def upgrade_protocol(target: SessionTable, reader_version: Any, writer_version: Any) -> None:
    """Adds the features that two protocol versions imply; lower versions than the table's change nothing.

    Args:
        target: the table.
        reader_version: the reader version, from 1 to 3.
        writer_version: the writer version, from 1 to 7.

    Raises:
        InvalidOptionError: a version is no number, or there is no such version.
        UnsupportedFeatureError: the versions imply what bayou does not do for this table.
    """
    given = {"readerVersion": reader_version, "writerVersion": writer_version}
    for name, value in given.items():
        check_argument(target, name, value, int, f"The {name} needs to be an integer")
    keys = (properties.MIN_READER_VERSION.key, properties.MIN_WRITER_VERSION.key)
    set_properties(target, dict(zip(keys, given.values(), strict=True)))


def add_feature(target: SessionTable, name: Any) -> None:
    """Adds a table feature, with those that it requires.

    Args:
        target: the table.
        name: the feature, in any case.

    Raises:
        InvalidOptionError: the name is no text, or the feature cannot be added by itself.
        UnsupportedFeatureError: the feature is not known, or bayou does not do what it asks of writers.
    """
    check_argument(target, "featureName", name, str, "featureName needs to be a string")
    set_properties(target, {f"{properties.FEATURE_PREFIX}{name}": "supported"})
