# SPDX-License-Identifier: Apache-2.0
"""Bridge Python and the JVM: classes and signatures, bulk transfers, callbacks, adapters, session copies, pinned settings.

The package `relations` works on relations, the package `catalyst` on expressions and plans.
"""
