# SPDX-License-Identifier: Apache-2.0
"""Tables in S3, Google Cloud Storage and Azure: one log store for all of them, using the package obstore.

A commit is one conditional PUT, so any number of writers exclude each other without a lock table.
"""
