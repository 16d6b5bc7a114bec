# SPDX-License-Identifier: Apache-2.0
"""Writing checkpoints of every kind, and the sharded jobs that read and write checkpoints of very large logs.

`log.snapshot` reads checkpoints; `log.commit` decides when one is due.
"""
