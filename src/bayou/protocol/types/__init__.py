# SPDX-License-Identifier: Apache-2.0
"""Schemas, types, partition values and instants: how the log spells them and what they mean.

Nothing here knows a property, a feature or an action.
"""
