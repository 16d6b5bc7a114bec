# SPDX-License-Identifier: Apache-2.0
"""DELETE and UPDATE, and what an overwrite of a part takes out: which rows of which files they change, and what is left."""
