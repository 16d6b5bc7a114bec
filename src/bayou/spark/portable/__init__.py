# SPDX-License-Identifier: Apache-2.0
"""The backend that needs only the documented DataFrame API: for Spark Connect, and for classic sessions with unknown internals."""
