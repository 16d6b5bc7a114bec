# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from importlib.util import find_spec

# PySpark is imported by what is tested there, and started by nothing.
_WITH_PYSPARK = ["builders", "exceptions", "given_settings", "install", "not_yet", "signatures"]

collect_ignore = [] if find_spec("pyspark") else [f"test_{name}.py" for name in _WITH_PYSPARK]
