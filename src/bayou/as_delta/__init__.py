# SPDX-License-Identifier: Apache-2.0
"""bayou in the place of delta-spark: programs and tests that were written for it run unmodified.

`install.py` puts it there, `delta/` is what they import, `settings.py` knows which settings are Delta's own, `sessions.py`
makes PySpark's sessions enabled ones.
"""
