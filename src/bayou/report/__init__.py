# SPDX-License-Identifier: Apache-2.0
"""How tables, plans and results look to people: in notebooks and in terminals."""

from __future__ import annotations
