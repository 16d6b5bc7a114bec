# SPDX-License-Identifier: Apache-2.0
"""The health of a table: what makes it slow or large, by its log, and the call that helps."""

from __future__ import annotations
