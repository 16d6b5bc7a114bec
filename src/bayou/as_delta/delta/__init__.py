# SPDX-License-Identifier: Apache-2.0
"""The modules that `import delta` finds after `bayou.install_as_delta()`: delta-spark's names for bayou's classes.

Each name is a class or function from elsewhere in bayou.
"""

from __future__ import annotations

from bayou.as_delta.delta.pip_utils import configure_spark_with_delta_pip
from bayou.as_delta.delta.version import __version__
from bayou.table import DeltaTable, IdentityGenerator

IdentityGenerator = IdentityGenerator  # noqa: PLW0127  (programs import the name from here too)

__all__ = ["DeltaTable", "__version__", "configure_spark_with_delta_pip"]
