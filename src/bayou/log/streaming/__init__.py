# SPDX-License-Identifier: Apache-2.0
"""A table as the source of a stream: which files each batch reads, and how far a stream has read."""
