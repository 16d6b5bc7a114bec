# SPDX-License-Identifier: Apache-2.0
"""Answer the calls of a classic session: its data source, catalog, parser, optimizer rule and functions."""
