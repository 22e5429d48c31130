"""Put the tables of the rivals' frozen results into docs/benchmark.md: python scripts/benchmark_document.py"""

from collections.abc import Sequence
from pathlib import Path

from holdfast.benchmark.run import Standing, frozen_rivals
from holdfast.benchmark.suite import TRACKS
from holdfast.numerics.statistics import interval
from holdfast.text import number

PAGE = Path(__file__).parents[1] / "docs" / "benchmark.md"
BEGIN = "<!-- tables -->"


def markdown() -> str:
    """The rivals' tables, one for each track, as docs/benchmark.md shows them."""
    parts = []
    for track in TRACKS.values():
        rivals = frozen_rivals(track)
        some = next(iter(rivals))
        ranking = Standing(some, track, rivals[some], rivals).ranking
        rows = []
        for place, name in enumerate(ranking, 1):
            standing = Standing(name, track, rivals[name], rivals)
            mean, low, high = standing.score(name)
            open_ = [f"`{rival}`" for rival in ranking if rival != name and standing.verdict(rival) == "not decided"]
            rows.append(
                [str(place), f"`{name}`", f"{number(mean, 4)} ± {(high - low) / 2:.4f}", ", ".join(open_) or "–"]
            )
        parts.append(f"Track `{track.name}`: {track.what}. T = {number(track.settings[0].horizon)}.\n")
        parts.append(_table(["rank", "policy", "score", "not decided against"], rows))
        costs = [
            [
                setting.name,
                f"{setting.switching_cost:g}",
                *(number(interval(rivals[name][setting.name])[0]) for name in ranking),
            ]
            for setting in track.settings
        ]
        parts.append("Mean regret with switching in each setting:\n")
        parts.append(_table(["setting", "λ", *(f"`{name}`" for name in ranking)], costs))
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{text}{BEGIN}\n\n{markdown()}", encoding="utf-8")
