# SPDX-License-Identifier: Apache-2.0
"""Writing checkpoints of every kind, and the sharded jobs that read and write checkpoints of very large logs.

Reading a checkpoint into a snapshot is in `log.snapshot`; deciding when one is due is in `log.commit`.
"""
