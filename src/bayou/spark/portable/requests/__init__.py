# SPDX-License-Identifier: Apache-2.0
"""The requests of one Spark Connect client, rewritten before they leave.

A request of a client holds the whole query as a message. `install` puts an object between one client and its server. That object
replaces what the server does not know, such as a read of a Delta table, by relations that any server knows. It answers commands
that the server cannot run. The server, other sessions of the process and PySpark's own classes stay as they are.

What a relation is replaced by, and which commands are answered, `Answers` decides. Start with `installation`.
"""
