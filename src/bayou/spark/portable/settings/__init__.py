# SPDX-License-Identifier: Apache-2.0
"""The settings of a session of Spark Connect: asked for once in each call of the program, and changed for single requests."""
