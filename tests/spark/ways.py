# SPDX-License-Identifier: Apache-2.0
"""The properties of tables whose rows change one way or the other; the fixture `way` gives both."""

from __future__ import annotations

FILES = {"delta.enableDeletionVectors": "false"}
"""Rows change by rewriting files."""
VECTORS = {"delta.enableDeletionVectors": "true"}
"""Rows change by deletion vectors and new files."""
