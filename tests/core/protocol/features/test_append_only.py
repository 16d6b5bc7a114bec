# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import AppendOnlyError
from bayou.protocol.actions.actions import Metadata
from bayou.protocol.features.protocol_rules import check_not_append_only


def metadata(**configuration):
    return Metadata("id", '{"type":"struct","fields":[]}', (), configuration=configuration)


@pytest.mark.parametrize("instead", ["", "append"])
def test_a_refusal_says_what_is_refused_and_what_can_be_done(instead):
    with pytest.raises(AppendOnlyError) as caught:
        check_not_append_only(metadata(**{"delta.appendOnly": "true"}), "MERGE changes its rows", "/t", 3, instead=instead)
    error = caught.value
    assert (error.error_class, error.table, error.version) == ("DELTA_CANNOT_MODIFY_APPEND_ONLY", "/t", 3)
    assert "MERGE changes its rows" in error.message
    assert "delta.appendOnly" in error.next_step
    assert instead in error.next_step


@pytest.mark.parametrize("configuration", [{}, {"delta.appendOnly": "false"}])
def test_other_tables_are_not_refused(configuration):
    check_not_append_only(metadata(**configuration), "MERGE changes its rows", "/t")
