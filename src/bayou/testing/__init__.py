# SPDX-License-Identifier: Apache-2.0
"""What tests of Delta tables need: a table builder, a store that fails on purpose, the conformance suite of log stores."""
