#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the first Python that bayou runs on: $PYTHON, python3, then the numbered ones.
for python in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python3.10 python3.14 python; do
    [ -n "$python" ] || continue
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        command -v "$python"
        exit 0
    fi
done
echo "bayou needs Python 3.10 or newer: install it, or name one: make PYTHON=/path/to/python3 ..." >&2
# The caller runs what is printed; `false` makes it stop there.
echo false
exit 1
