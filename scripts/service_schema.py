"""Try `holdfast serve` against its own OpenAPI document, with Schemathesis (``pip install schemathesis``).

    python scripts/service_schema.py --examples 200

Answers must be of the statuses, media types and schemas that the document says, methods that it does not have must be
refused, and no answer may be an error of the server.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from service import GAME, InProcess, Web, ask  # noqa: E402

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,unsupported_method"
)


def check(web: Web, examples: int, seed: int = 1) -> subprocess.CompletedProcess[str]:
    """Run Schemathesis and return its output; its exit code is 0 where nothing is wrong."""
    web("PUT", "/v1/games/0", GAME)
    ask(web, "/v1/games/0", 20)
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{web.url}/openapi.json", "--checks", CHECKS]
    command += ["--max-examples", str(examples), "--seed", str(seed)]
    command += ["--exclude-path-regex", "/events$"]  # it does not end
    with tempfile.TemporaryDirectory() as folder:  # where it leaves files
        return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, InProcess(f"sqlite:///{folder}/games.db") as server:
        done = check(server.web, options.examples, options.seed)
    print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main())
