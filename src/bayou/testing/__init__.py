# SPDX-License-Identifier: Apache-2.0
"""What tests of Delta tables need: a session, temporary tables, a pytest plugin, an assertion on rows, and tools for stores.

Users may import it; bayou itself never does.
"""
