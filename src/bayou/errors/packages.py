# SPDX-License-Identifier: Apache-2.0
"""The error for a missing package that bayou needs on Spark."""

from __future__ import annotations

from typing import Final

from bayou.errors import failed

# Packages that only the extra `spark` installs, as a sentence names them.
_OF_SPARK: Final = {"numpy": "NumPy", "py4j": "Py4J", "pyspark": "PySpark"}


def of_spark(error: ModuleNotFoundError, attribute: str) -> ModuleNotFoundError:
    """Return the error that says how to install a package of Spark; the same error for any other package.

    Args:
        error: what the import raised.
        attribute: what of bayou needs the package, as a user writes it after `bayou.`.
    """
    package = (error.name or "").partition(".")[0]
    if package not in _OF_SPARK:
        return error
    missing = failed("package-of-spark-missing", package=package, attribute=attribute, package_name=_OF_SPARK[package])
    assert isinstance(missing, ModuleNotFoundError)  # noqa: S101  (for the type checker)
    return missing
