# SPDX-License-Identifier: Apache-2.0
"""The statements that create, alter and describe tables."""
