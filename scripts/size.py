"""Print the size of the package: modules, lines, AST nodes, nodes per code line, and the ten largest files.

Code lines are those that are neither blank nor comment nor docstring. Run by ``make size``.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str, tree: ast.AST) -> int:
    """Count the lines that have code on them."""
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    used: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            used |= set(range(token.start[0], token.end[0] + 1))
    return len(used - docstrings)


def main() -> None:
    """Print the numbers."""
    files = sorted((ROOT / "src").rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    lines = {file: text.count("\n") for file, text in texts.items()}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    nodes = {file: sum(1 for _ in ast.walk(tree)) for file, tree in trees.items()}
    code = sum(code_lines(texts[file], trees[file]) for file in files)
    tests = sum(file.read_text(encoding="utf-8").count("\n") for file in (ROOT / "tests").rglob("*.py"))
    total = sum(nodes.values())
    print(f"modules              {len(files):>8,}")
    print(f"lines                {sum(lines.values()):>8,}")
    print(f"code lines           {code:>8,}")
    print(f"AST nodes            {total:>8,}")
    print(f"nodes per code line  {total / code:>8.2f}")
    print(f"lines of tests       {tests:>8,}")
    print("\nlargest files: lines, nodes")
    for file in sorted(files, key=lambda one: -lines[one])[:10]:
        print(f"{lines[file]:>6,} {nodes[file]:>7,}  {file.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
