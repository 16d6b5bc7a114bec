# SPDX-License-Identifier: Apache-2.0
"""The py4j bridge: classes and signatures, bulk transfers, callbacks, adapters, session copies, pinned settings.

What Spark does with a relation is in `relations`, with an expression or a plan in `catalyst`.
"""
