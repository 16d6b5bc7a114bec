# SPDX-License-Identifier: Apache-2.0
"""Relations and plans of chosen files in a classic session."""
