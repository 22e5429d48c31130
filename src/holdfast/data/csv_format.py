"""How a CSV file is written: its encoding, what stands between columns and in numbers, what means a missing cell."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from holdfast.errors import InvalidParameter

IF_MISSING = "it is missing: fill it in, or leave out the row or the column"

THOUSANDS = {".": "points", ",": "commas", "'": "apostrophes", " ": "spaces"}
"""Signs that may stand between thousands."""
SPACES = " \u00a0\u202f"
"""A space between thousands is often one that does not break."""


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written, checked."""

    separator: str = ","
    """What stands between columns; a tab may be given as ``\\t``, as a shell gives it."""
    decimal: str = "."
    encoding: str = "utf-8"
    """As Python names it."""
    thousands: str | None = None
    """What stands between thousands, if anything does."""
    empty: str | Sequence[str] = ()
    """Texts that stand for a missing value: one, or several."""
    missing: bool = False
    """Whether values may be missing."""
    if_missing: str = IF_MISSING
    """What to do where one is and may not be."""

    def __post_init__(self) -> None:
        separator = "\t" if self.separator == "\\t" else self.separator
        if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n':
            raise InvalidParameter("separator", "must be one character such as ; or a tab", separator)
        if self.decimal not in (".", ","):
            raise InvalidParameter("decimal", "must be . or ,", self.decimal)
        if self.decimal == separator:
            rule = "must not be what stands between columns; give separator=';'"
            raise InvalidParameter("decimal", rule, self.decimal)
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            signs = ", ".join(sign for sign in THOUSANDS if sign not in (self.decimal, " "))
            raise InvalidParameter("thousands", f"must be {signs} or a space, and not the decimal sign", self.thousands)
        try:
            "".encode(str(self.encoding))
        except (LookupError, ValueError):
            rule = "must be an encoding that Python knows, such as cp1252 (Windows), latin-1 or utf-16"
            raise InvalidParameter("encoding", rule, self.encoding) from None
        texts = [self.empty] if isinstance(self.empty, str) else list(self.empty)
        if not all(isinstance(text, str) for text in texts):
            raise InvalidParameter("empty", "must be texts that stand for a missing value, such as 'n/v'", self.empty)
        object.__setattr__(self, "separator", separator)
        object.__setattr__(self, "empty", tuple(text.strip() for text in texts))

    @property
    def is_utf8(self) -> bool:
        """Whether polars can read the file as it is."""
        return self.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")

    @property
    def thousands_signs(self) -> str:
        """A pattern of the sign between thousands."""
        return f"[{SPACES if self.thousands == ' ' else self.thousands}]"

    @cached_property
    def grouped(self) -> str:
        """A pattern of numbers with signs between thousands."""
        return rf"^[+-]?\d{{1,3}}({self.thousands_signs}\d{{3}})+([{self.decimal}]\d+)?$"

    def is_number(self, cell: str) -> bool:
        """Whether a cell is a number as written in this format; with decimal commas 1.100 may mean 1100."""
        cell = cell.strip()
        if self.thousands is not None and re.match(self.grouped, cell):
            cell = re.sub(self.thousands_signs, "", cell)
        if self.decimal == ",":
            return "." not in cell and is_number(cell.replace(",", "."))
        return is_number(cell)

    def is_missing(self, cell: str) -> bool:
        """Whether a cell has no value."""
        return not cell.strip() or cell.strip() in self.empty

    def opened(self, file: Path, errors: str = "strict") -> IO[str]:
        """The text of a file, unzipped; a byte order mark is left out."""
        opening: Any = gzip.open if file.name.lower().endswith(".gz") else open
        encoding = "utf-8-sig" if self.is_utf8 else self.encoding
        lines: IO[str] = opening(file, "rt", encoding=encoding, errors=errors, newline="")
        return lines


PLAIN = CsvFormat()


def is_number(cell: str) -> bool:
    """Whether Python reads it as a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
