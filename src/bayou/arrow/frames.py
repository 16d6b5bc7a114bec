# SPDX-License-Identifier: Apache-2.0
"""Rows as data frames of other libraries, which are imported only here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayou.errors import failed

if TYPE_CHECKING:
    from bayou.arrow.reader import TableReader


def to_pandas(reader: TableReader) -> Any:
    """Return the rows as a pandas DataFrame, or raise MissingPackageError. Timestamps keep their microseconds."""
    _imported("pandas", "to_pandas", "pandas")
    return reader.table().to_pandas(split_blocks=True, self_destruct=True)


def to_polars(reader: TableReader) -> Any:
    """Return the rows as a Polars DataFrame, or raise MissingPackageError."""
    polars = _imported("polars", "to_polars", "Polars")
    return polars.from_arrow(reader.table())


def _imported(package: str, method: str, name: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise failed("rows-package-missing", method=method, name=name, package=package) from error
