# SPDX-License-Identifier: Apache-2.0
"""feature_matrix.py: brings the table in docs/features.md up to date with the code."""

from __future__ import annotations

from pathlib import Path

from bayou.protocol.feature_matrix import feature_matrix

PAGE = Path(__file__).parent.parent / "docs" / "features.md"
BEGIN = "<!-- feature matrix: begin -->\n"
END = "<!-- feature matrix: end -->\n"


def main() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{feature_matrix()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
