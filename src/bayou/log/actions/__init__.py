# SPDX-License-Identifier: Apache-2.0
"""Files of actions, in JSON or Parquet, as Arrow columns; and the key that identifies one logical file.

Nothing here decides which action wins; that is `log.snapshot`.
"""
