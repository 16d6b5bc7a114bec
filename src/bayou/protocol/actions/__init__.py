# SPDX-License-Identifier: Apache-2.0
"""The actions of the log as immutable values, their JSON, and the names and paths of the files that they mention.

Nothing here depends on a feature or on more than one action.
"""
