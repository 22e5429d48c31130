"""Put the tables of the rivals' frozen results into docs/benchmark.md: python scripts/benchmark_document.py"""

from pathlib import Path

from holdfast.benchmark.tables import markdown

PAGE = Path(__file__).parents[1] / "docs" / "benchmark.md"
BEGIN = "<!-- tables -->"

if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
    PAGE.write_text(f"{text}{BEGIN}\n\n{markdown()}", encoding="utf-8")
