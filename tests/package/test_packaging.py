"""Descriptions of the package outside the code: addresses, licence, recipe, workflows, pins, release notes."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from release_notes import CHANGELOG, notes

import holdfast

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(name: str) -> dict:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_addresses_agree():
    urls = PROJECT["project"]["urls"]
    about = read_yaml("conda/recipe.yaml")["about"]
    assert about["homepage"] == urls["Homepage"]
    assert about["repository"] == urls["Source"]
    assert about["documentation"] == urls["Documentation"]


def test_the_licence_is_an_spdx_expression_and_the_same_everywhere():
    licence = PROJECT["project"]["license"]
    assert licence == "MIT"
    assert licence == read_yaml("CITATION.cff")["license"] == read_yaml("conda/recipe.yaml")["about"]["license"]
    assert not [line for line in PROJECT["project"]["classifiers"] if line.startswith("License")]
    for file in PROJECT["project"]["license-files"]:
        assert (ROOT / file).is_file()


def test_the_software_and_the_paper_can_be_cited():
    cited = read_yaml("CITATION.cff")
    assert (cited["type"], cited["title"]) == ("software", "Holdfast")
    deposited = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "for_a_paper.md").read_text(encoding="utf-8")
    assert cited["version"] == deposited["version"] == holdfast.__version__
    assert str(cited["date-released"]) == deposited["publication_date"]
    assert f"version = {{{holdfast.__version__}}}" in page
    assert deposited["license"] == cited["license"]
    for text in (str(cited), str(deposited), page):
        assert ".example" not in text  # an address that leads nowhere
    paper = cited["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Rouyer", "Seldin", "Cesa-Bianchi"]


def test_the_recipe_needs_what_the_package_needs():
    wanted = {line for line in PROJECT["project"]["dependencies"] if ";" not in line}
    recipe = read_yaml("conda/recipe.yaml")["requirements"]
    assert {line.replace(" ", "") for line in recipe["run"] if not line.startswith("python ")} == wanted
    assert f"python {PROJECT['project']['requires-python']}" in recipe["run"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_our_own_targets(path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    called = re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8"))
    assert called
    for target in called:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_tests_run_on_three_systems():
    jobs = read_yaml(".github/workflows/test.yml")["jobs"]
    assert {name.split("-")[0] for name in jobs["systems"]["strategy"]["matrix"]["os"]} == {
        "ubuntu",
        "macos",
        "windows",
    }


def test_a_release_is_published_without_a_password():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["jobs"]["publish"]["permissions"]["id-token"] == "write"
    assert "secrets." not in text
    assert "password:" not in text


def test_every_tool_has_a_pinned_version():
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    for group in PROJECT["dependency-groups"].values():
        for tool in group:
            assert re.sub(r"[<>=\[].*", "", tool).lower() in pinned | {name.replace("_", "-") for name in pinned}, tool


def test_notes_of_a_release_are_its_section_of_the_changelog():
    text = CHANGELOG.read_text(encoding="utf-8")
    shown = notes(holdfast.__version__, text)
    assert shown
    assert "\n## " not in shown
    assert shown in text
    with pytest.raises(SystemExit, match=r"no section \[9\.9\]"):
        notes("9.9", text)


def test_no_file_names_a_package_registry():
    """Nor a folder of one machine: what is published is the same everywhere."""
    named = ["pyproject.toml", "CITATION.cff", "README.md", "Makefile", "conda/recipe.yaml", "docs/conf.py"]
    for path in [*(ROOT / name for name in named), *WORKFLOWS, *(ROOT / "docs").rglob("*.md")]:
        assert not re.search(r"pypi\.org|pythonhosted|anaconda\.org", path.read_text(encoding="utf-8")), path.name


def test_the_page_of_the_package_has_no_link_into_a_folder():
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    shown = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    targets = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(targets) > 10
    assert all(target.startswith(PROJECT["project"]["urls"]["Source"]) for target in targets)
