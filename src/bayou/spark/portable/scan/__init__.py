# SPDX-License-Identifier: Apache-2.0
"""Read chosen files of a snapshot with the documented DataFrame API.

The client writes the list of files as the log of Spark's own file sink, so Spark lists nothing. The modification time in that list
is the number of the file. Spark knows it for each file when it plans, so that all constants of files are looked up by it.
"""
