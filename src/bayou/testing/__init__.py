# SPDX-License-Identifier: Apache-2.0
"""What tests of Delta tables need: a local session, a table builder, a faulty store, the conformance suite of log stores.

Users may import it; bayou itself never does.
"""
