# SPDX-License-Identifier: Apache-2.0
"""The errors of arguments, actions of the log and deletion vectors."""

from __future__ import annotations

from typing import Final

ACTIONS: Final = """
DELTA_ILLEGAL_OPTION InvalidOptionError
    {option} is {given}; it must be {wanted}.
    Next: Give {wanted}.
    Parameters: input={value} name={option} explain={needs}
DELTA_ILLEGAL_OPTION/unicode InvalidOptionError
    {option} is not valid Unicode, because it has half of a surrogate pair at position {position}.
    Next: Leave that character out, which a byte that is not UTF-8 also becomes.
DELTA_DUPLICATE_ACTIONS_FOUND/not-an-action InvalidCommitError
    {given}, of type {kind}, is not an action.
    Next: Give actions of bayou.protocol.actions, such as AddFile.
DELTA_DUPLICATE_ACTIONS_FOUND/field InvalidCommitError
    The field {field} of {kind} is {given}; it must be {wanted}.
    Next: Give {wanted}.
DELTA_STATE_RECOVER_ERROR/not-an-object CorruptLogError
    The action {action} is not a JSON object.
DELTA_STATE_RECOVER_ERROR/field-missing CorruptLogError
    The action {action} lacks the field {field}.
DELTA_STATE_RECOVER_ERROR/field-type CorruptLogError
    The field {field} of the action {action} has the wrong type: {value!r:.80}.
DELTA_STATE_RECOVER_ERROR/descriptor DeletionVectorError
    The descriptor of a deletion vector is not valid: {reason}.
    Next: Restore the file of the log that holds it from a backup, or the table to a version before it.
DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/folder DeletionVectorError
    The deletion vector's folder {folder!r} is not a plain name.
    Next: Read the table with the engine that wrote the vector, or restore it to a version without this vector.
DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/uuid DeletionVectorError
    The deletion vector's path {path!r} holds no UUID in Z85: {reason}.
    Next: Read the table with the engine that wrote the vector, or restore it to a version without this vector.
DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/inline DeletionVectorError
    The deletion vector is inline, so it has no file.
    Next: Read the table with the engine that wrote the vector, or restore it to a version without this vector.
DELTA_CANNOT_RECONSTRUCT_PATH_FROM_URI/storage-type DeletionVectorError
    The log names a deletion vector of the storage type {storage_type!r}, but bayou only knows those in files of the table (u), in
    files elsewhere (p) and in the log itself (i).
    Next: Read the table with the engine that wrote the vector, or restore it to a version without this vector.
DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/unreadable DeletionVectorError
    A deletion vector cannot be read: {reason}.
DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/not-inline DeletionVectorError
    The deletion vector has the storage type {storage_type!r}, so it is not inline.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_SIZE_MISMATCH/inline DeletionVectorError
    An inline deletion vector cannot be read: {reason}.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH/version DeletionVectorError
    The deletion vector file has version {found}, and only {known} is known.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_SIZE_MISMATCH/range DeletionVectorError
    The deletion vector lies at bytes {start} to {expected} of a file of {found} bytes.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_SIZE_MISMATCH DeletionVectorError
    The deletion vector has {found} bytes in its file and {expected} in the log.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_CHECKSUM_MISMATCH DeletionVectorError
    The deletion vector's checksum is {found:08x}, but its file says {expected:08x}.
    Next: Restore the file from a backup, or the table to a version without this vector.
DELTA_DELETION_VECTOR_CARDINALITY_MISMATCH DeletionVectorError
    The deletion vector deletes {found} rows, but the log says {expected}.
    Next: Restore the file from a backup, or the table to a version without this vector.
"""
