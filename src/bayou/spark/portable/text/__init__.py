# SPDX-License-Identifier: Apache-2.0
"""Read SQL text in Python, for sessions whose parser is out of reach.

Text that is not understood raises UnreadableTextError. This package never guesses what a text means.
"""
