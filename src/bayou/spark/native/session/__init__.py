# SPDX-License-Identifier: Apache-2.0
"""The application of a classic session: its JVM, its log stores, and the jobs that read logs."""
