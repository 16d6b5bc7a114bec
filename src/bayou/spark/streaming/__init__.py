# SPDX-License-Identifier: Apache-2.0
"""Tables as the source and the sink of Structured Streaming queries."""
