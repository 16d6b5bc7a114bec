# SPDX-License-Identifier: Apache-2.0
"""The methods of `DeltaTable`, by kind: row changes, alterations, history and detail, and those not supported yet.

Nothing here runs a job or commits; each method calls the package that does the work.
"""
