# SPDX-License-Identifier: Apache-2.0
"""The commands on Delta tables that a client of Spark Connect runs itself, instead of sending them to the server."""
