# SPDX-License-Identifier: Apache-2.0
"""Operations that rewrite data files without changing rows.

Every commit here has `dataChange` = false. The caller decides which files are rewritten.
"""
