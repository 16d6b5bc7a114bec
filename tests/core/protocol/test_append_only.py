# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import AppendOnlyError
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.features.protocol_rules import check_not_append_only


def metadata(**configuration):
    return Metadata("id", '{"type":"struct","fields":[]}', (), configuration=configuration)


@pytest.mark.parametrize(("instead", "expected"), [("", "."), ("append", ", or append.")])
def test_a_refusal_says_what_is_refused_and_what_can_be_done(instead, expected):
    with pytest.raises(AppendOnlyError) as caught:
        check_not_append_only(metadata(**{"delta.appendOnly": "true"}), "MERGE changes its rows", "/t", 3, instead=instead)
    assert str(caught.value) == (
        "[DELTA_CANNOT_MODIFY_APPEND_ONLY] The table only takes appends (delta.appendOnly), and MERGE changes its rows. "
        f"(table: /t, version: 3) Next: set delta.appendOnly to false first{expected}"
    )


@pytest.mark.parametrize("configuration", [{}, {"delta.appendOnly": "false"}])
def test_other_tables_are_not_refused(configuration):
    check_not_append_only(metadata(**configuration), "MERGE changes its rows", "/t")
