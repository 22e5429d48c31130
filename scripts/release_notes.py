"""Print what CHANGELOG.md says of one version, for the notes of its release.

python scripts/release_notes.py 0.5.0
"""

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(version: str, changelog: str) -> str:
    """Return the section of a version, without its title."""
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section [{version}]")
    return found[1].strip()


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(notes(sys.argv[1], CHANGELOG.read_text(encoding="utf-8")))
