# SPDX-License-Identifier: Apache-2.0
"""Operations that rewrite data files and change no row.

Every commit made here has `dataChange` = false; what must be rewritten is decided by the caller.
"""
