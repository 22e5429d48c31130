"""Try `holdfast serve` against its own OpenAPI document, with Schemathesis (``pip install schemathesis``).

    python scripts/service_schema.py --examples 200

Answers must be of the statuses, media types and schemas that the document says, methods that it does not have must be
refused, and no answer may be an error of the server.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from service import GAME, InProcess, ask  # noqa: E402

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,unsupported_method"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=shutil.which("schemathesis") or "schemathesis")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, InProcess(f"sqlite:///{folder}/games.db") as server:
        server.web("PUT", "/v1/games/0", GAME)
        ask(server.web, "/v1/games/0", 20)
        command = [options.program, "run", f"{server.web.url}/openapi.json", "--checks", CHECKS]
        command += ["--max-examples", str(options.examples), "--seed", str(options.seed)]
        command += ["--exclude-path-regex", "/events$"]  # it does not end
        return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
