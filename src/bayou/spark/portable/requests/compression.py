# SPDX-License-Identifier: Apache-2.0
"""Open plans that a client has compressed, and compress them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError
from pyspark.sql.connect import proto

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATIONS: Final = "op_type"


def change_plan(plan: proto.Plan, change: Callable[[proto.Plan], bool]) -> bool:
    """Change a plan, also one that its client compressed (PySpark 4.1 and newer, for plans above some MB).

    A compressed plan is compressed again only if it changed. A plan that this Python cannot open stays as it is: it is nested
    more than protobuf reads.

    Args:
        plan: the plan of a request, changed in place.
        change: gets the plan and says whether it changed it.

    Returns:
        True if the plan changed.
    """
    if plan.WhichOneof(_OPERATIONS) != "compressed_operation":
        return change(plan)
    opened = opened_plan(plan)
    if opened is None or not change(opened):
        return False
    codec = _codec(plan)
    if codec is None:
        return False
    operation = opened.root if opened.WhichOneof(_OPERATIONS) == "root" else opened.command
    plan.compressed_operation.data = codec.compress(operation.SerializeToString())
    return True


def opened_plan(plan: proto.Plan) -> proto.Plan | None:
    """A plan without compression, or None if this Python cannot open it. A plan that is not compressed is returned itself."""
    if plan.WhichOneof(_OPERATIONS) != "compressed_operation":
        return plan
    codec = _codec(plan)
    if codec is None:
        return None
    compressed = plan.compressed_operation
    opened = proto.Plan()
    is_relation = compressed.op_type == proto.Plan.CompressedOperation.OpType.OP_TYPE_RELATION
    operation = opened.root if is_relation else opened.command
    try:
        operation.ParseFromString(codec.decompress(compressed.data))
    except DecodeError:
        return None
    # An empty operation is one, too.
    operation.SetInParent()
    return opened


def _codec(plan: proto.Plan) -> Any:
    """The module that compresses and opens a plan, or None for a codec that is not known or not installed."""
    if plan.compressed_operation.compression_codec != proto.CompressionCodec.COMPRESSION_CODEC_ZSTD:
        return None
    try:
        import zstandard  # noqa: PLC0415  (a client without it compresses nothing)
    except ImportError:
        return None
    return zstandard
