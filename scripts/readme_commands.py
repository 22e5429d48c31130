"""Run what README.md shows, with the Holdfast that is installed; `noxfile.py` does it in empty environments.

python scripts/readme_commands.py --decide    # what needs no extra
python scripts/readme_commands.py             # all of it
"""

import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
FEWER = {
    "reproduce": ["--replications", "2", "--horizon", "2000"],
    "claims": ["--replications", "50", "--worlds", "20"],
}
"""Options that make a command of minutes take seconds; the last of two equal options counts."""
FOREVER = ("serve",)
"""Commands that end when they are told to."""
STUDY = """
horizon = 200
switching_cost = 0.5
replications = 2
policies = ["exp3", "adaptive"]
environment = { kind = "bernoulli", mean_losses = [0.3, 0.5] }
"""


def main(decide: bool) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("holdfast ")]
    if decide:
        start = blocks[0]  # imports
        blocks = [start] + [block for block in blocks[1:] if "simulate" not in block and "replay" not in block]
        commands = [command for command in commands if command[1] in ("bounds", "store")]
    assert blocks, "README.md has no program"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "losses.csv").write_text("east,west\n" + "0.1,0.9\n0.8,0.2\n" * 50)
        Path(folder, "study.toml").write_text(STUDY)
        _run([sys.executable, "-c", "\n".join(blocks)], folder)
        for command in commands:
            if command[1] not in FOREVER:
                _run([*command, *FEWER.get(command[1], [])], folder)


def _run(command: list[str], folder: str) -> None:
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    shown = "README's programs" if command[0] == sys.executable else shlex.join(command)
    print(
        f"{time.perf_counter() - began:6.1f} s  {'ok    ' if done.returncode == 0 else 'FAILED'}  {shown}", flush=True
    )
    if done.returncode != 0:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])


if __name__ == "__main__":
    main("--decide" in sys.argv[1:])
