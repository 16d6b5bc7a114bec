# SPDX-License-Identifier: Apache-2.0
"""What tests of Delta tables need: a table builder, and the conformance suite of log stores."""
