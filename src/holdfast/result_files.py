"""A result in a file: parquet with its provenance and a checksum; CSV and Arrow for other programs.

The checksum of a parquet file is over every byte of it, but for its own 64 digits. It is checked before any byte is
interpreted, so damage is found wherever it is, and nothing is made of a damaged file.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.errors import BadSavedState, HoldfastError, InvalidParameter
from holdfast.extras import pl
from holdfast.files import reason, write_whole
from holdfast.regret import MEASURES

KEYS = {"policy": pl.String, "replication": pl.Int64, "round": pl.Int64}
SCHEMA = KEYS | {name: pl.Int64 if name == "switches" else pl.Float64 for name in MEASURES}
MAY_BE_EXPECTED = {"switches": pl.Float64}
"""Where expected costs were computed instead of sampled, switches are means."""

PROVENANCE, CHECKSUM, FORMAT, VERSION = "holdfast", "holdfast.checksum", "holdfast.format", 1
"""Keys of a parquet file's metadata, and the version of the format."""
SIGNED = b"holdfast:sha256="
UNSIGNED = SIGNED + b"0" * 64
SIGNATURE = re.compile(SIGNED + rb"([0-9a-f]{64})")


def write_result(path: str | Path, frame: pl.DataFrame, provenance: dict[str, Any]) -> Path:
    """Write a table in the format that the suffix names; a reader never sees half a file."""
    return write_whole(path, FORMATS[_suffix(path)][0](frame, provenance))


def read_result(path: str | Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Rows and provenance of a file; `BadSavedState` for one that is damaged, foreign or from the future."""
    suffix, file = _suffix(path), Path(path)
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:
        raise BadSavedState(f"{file} cannot be read: {reason(error)}") from None
    try:
        frame, provenance = FORMATS[suffix][1](data)
        return _tidy(frame), provenance
    except BadSavedState as error:
        raise BadSavedState(f"{file} {error}") from None
    except (Exception, pl.exceptions.PanicException) as error:  # polars may say anything of bytes that are not its own
        found = reason(error) if isinstance(error, Exception) else "it cannot be parsed"
        raise BadSavedState(f"{file} must be a file written by Result.write ({found})") from None


def parquet_bytes(frame: pl.DataFrame, metadata: dict[str, str] | None = None) -> bytes:
    """A table as the bytes of a parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata=metadata)
    return buffer.getvalue()


def _suffix(path: object) -> str:
    rule = f"must be the name of a file that ends in {', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}"
    if not isinstance(path, (str, Path)):
        raise InvalidParameter("path", rule, path)
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidParameter("path", rule, str(path))
    return suffix


def _to_parquet(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(provenance)
    except (TypeError, ValueError) as error:
        raise HoldfastError(f"provenance must be of plain values, as JSON has them ({reason(error)})") from None
    metadata = {PROVENANCE: text, FORMAT: str(VERSION), CHECKSUM: UNSIGNED.decode()}
    data = parquet_bytes(frame, metadata)
    if data.count(SIGNED) != 1:
        raise HoldfastError(f"no name or setting in a result may contain {SIGNED.decode()!r}")
    return data.replace(UNSIGNED, SIGNED + hashlib.sha256(data).hexdigest().encode())


def _from_parquet(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    signatures = SIGNATURE.findall(data)
    if signatures and hashlib.sha256(SIGNATURE.sub(UNSIGNED, data)).hexdigest().encode() != signatures[0]:
        raise BadSavedState("is damaged: its contents do not have the checksum that was written with them")
    metadata = pl.read_parquet_metadata(io.BytesIO(data))
    frame = pl.read_parquet(io.BytesIO(data))
    if PROVENANCE not in metadata:
        raise BadSavedState("must be a file written by Result.write; this is another table")
    provenance = json.loads(metadata[PROVENANCE])
    if not isinstance(provenance, dict):
        raise BadSavedState("is damaged: its provenance is no table of settings")
    version = metadata.get(FORMAT, str(VERSION))
    if version != str(VERSION):
        raise BadSavedState(f"has format {version}; this version of Holdfast reads {VERSION}")
    if not signatures:
        raise BadSavedState("is damaged: it has no checksum")
    return frame, provenance


FORMULA = r"^'*[=+\-@\t\r]"
"""How a cell begins that a spreadsheet may take for a formula, or that has been marked as none."""


def csv_of(frame: pl.DataFrame, **options: Any) -> bytes:
    """The table as CSV; text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> csv_of(pl.DataFrame({"arm": ["=1+1", "east"], "loss": [-1.0, 0.5]}))
    b"arm,loss\\n'=1+1,-1.0\\neast,0.5\\n"
    """
    cells = pl.col(name for name, kind in frame.schema.items() if kind == pl.String)
    marked = frame.with_columns(pl.when(cells.str.contains(FORMULA)).then("'" + cells).otherwise(cells).name.keep())
    names = {name: f"'{name}" for name in frame.columns if re.match(FORMULA, name)}
    text = marked.rename(names).write_csv(**options)
    return str(text).encode()


def _unmarked(frame: pl.DataFrame) -> pl.DataFrame:
    """The table that `csv_of` wrote."""
    marked = FORMULA.replace("*", "+")
    text = pl.col(name for name, kind in frame.schema.items() if kind == pl.String)
    plain = frame.with_columns(pl.when(text.str.contains(marked)).then(text.str.slice(1)).otherwise(text).name.keep())
    return plain.rename({name: name[1:] for name in frame.columns if re.match(marked, name)})


def _to_csv(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    return csv_of(frame)


def _from_csv(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    return _unmarked(pl.read_csv(io.BytesIO(data), infer_schema_length=None, schema_overrides=SCHEMA)), {}


def _to_arrow(frame: pl.DataFrame, provenance: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def _from_arrow(data: bytes) -> tuple[pl.DataFrame, dict[str, Any]]:
    return pl.read_ipc(io.BytesIO(data)), {}


FORMATS: dict[str, tuple[Callable[..., bytes], Callable[[bytes], tuple[pl.DataFrame, dict[str, Any]]]]] = {
    ".parquet": (_to_parquet, _from_parquet),
    ".csv": (_to_csv, _from_csv),
    ".arrow": (_to_arrow, _from_arrow),
    ".ipc": (_to_arrow, _from_arrow),
    ".feather": (_to_arrow, _from_arrow),
}
"""How a table is written and read, by the suffix of its file."""


def _tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns of today: other columns (a study's grid) first, then those of the schema in its order."""
    if any(frame.schema.get(name) not in (kind, MAY_BE_EXPECTED.get(name, kind)) for name, kind in SCHEMA.items()):
        raise BadSavedState("must be a file written by Result.write; this is another table")
    if any(frame.select(*SCHEMA).null_count().row(0)):
        raise BadSavedState("is damaged: it has rows with nothing in a column that every row has")
    return frame.select(*(name for name in frame.columns if name not in SCHEMA), *SCHEMA)
