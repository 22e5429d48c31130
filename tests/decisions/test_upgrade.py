"""Two versions of Holdfast on one store: side by side while neither uses what the other does not know, else refused."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from games import SWITCH

import holdfast as hf

SOURCE = Path(hf.__file__).parent
NEWER = {
    "a setting": (
        "decisions/settings.py",
        "    held_since: int = field(",
        '    colour: int | None = option("A colour.", partial(whole_number, least=1))\n    held_since: int = field(',
    ),
    "a format": ("decisions/models.py", "FORMAT = 1", "FORMAT = 2"),
}
"""What a newer version has: the file, a line of ours, and what stands there."""

START = "import holdfast as hf, sys\nrouter = hf.open(sys.argv[1], 'chat')\n"


@pytest.fixture
def newer(tmp_path, lasting_place):
    """Run a script with a newer version, as a process of its own; return what it says, and what went wrong."""

    def run(what: str, script: str) -> tuple[str, str]:
        folder = tmp_path / what
        if not folder.exists():
            shutil.copytree(SOURCE, folder / "holdfast")
            file, ours, theirs = NEWER[what]
            text = (folder / "holdfast" / file).read_text()
            assert text.count(ours) == 1
            (folder / "holdfast" / file).write_text(text.replace(ours, theirs))
        command = [sys.executable, "-c", START + script, lasting_place.at]
        environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
        return done.stdout.strip(), done.stderr

    return run


@pytest.mark.slow
def test_a_version_with_one_setting_more_runs_beside_this_one_until_it_is_used(lasting_place, newer):
    with lasting_place.open(policy=SWITCH, seed=1, clock=time.time) as router:
        decision = router.ask()
        script = f"router.tell({decision.id!r}, 0.5); router.change(patience=70); router.ask(); print('done')"
        assert newer("a setting", script) == ("done", "")
        assert not router.tell(decision.id, 0.5).new  # ours goes on, with what theirs has changed
        assert router.executor.setup.settings.patience == 70
        router.change(patience=80)
        asked = router.ask()
        assert newer("a setting", "router.change(colour=3); print(router.history.totals.rounds)") == ("3", "")
        for call in (router.ask, router.settle, lambda: router.tell(asked.id, 0.5), lambda: router.change(patience=7)):
            with pytest.raises(hf.BadStore, match="another Holdfast has set colour for game 'chat': nothing was"):
                call()
        with pytest.raises(hf.BadStore, match="another Holdfast has set colour"):
            lasting_place.open(policy=SWITCH)
        assert router.ask(fallback="b").arm == "b"
    script = "print(router.history.totals.rounds, router.history.totals.told, router.executor.setup.settings.patience)"
    assert newer("a setting", script) == ("3 1 80", "")


@pytest.mark.slow
def test_a_version_of_another_format_is_refused_before_it_writes(lasting_place, newer):
    with lasting_place.open(policy=SWITCH, seed=1, clock=time.time) as router:
        router.ask()
        revision = router.executor._revision
        said, wrong = newer("a format", "router.ask()")
        assert not said
        assert "must be a store of schema 2; another Holdfast wrote this one, schema 1" in wrong
        router.ask()
        assert (router.history.totals.rounds, router.executor._revision) == (2, revision + 1)
