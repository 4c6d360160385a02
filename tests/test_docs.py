"""Every block of code in the README and in docs/ does what it says, and the site is built without a warning."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import math
import os
import pkgutil
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pages
import pytest
from conftest import ROOT, SHARED

import nbbpe
from nbbpe.patterns.pattern import ALIASES, NAMED

# Blocks that are shown and not run: one that is added must be added here, too.
NOT_RUN = {"README.md": 4, "CONTRIBUTING.md": 3, "docs/guide.md": 2, "docs/how-it-works.md": 1, "docs/index.md": 1}
NOT_RUN["docs/reliability.md"] = 4  # they take minutes
# What a block may need that is not always there; each is tried by somebody.
FILES = {"cl100k_base.tiktoken"}  # that tiktoken would download
MODULES = {
    *{"datasets", "duckdb", "jax", "jinja2", "pandas", "polars", "pyarrow", "tiktoken", "tokenizers", "torch"},
    "transformers",
}
ENCODINGS = "https://openaipublic.blob.core.windows.net/encodings/"  # where tiktoken has them from
ARRAYS = {  # of which docs/arrays.md has all fields
    "WordCounts": "counting.word_counts",
    "LinkedWords": "kernels.training.linked_words",
    "PairTable": "kernels.training.pair_table",
    "BucketQueue": "kernels.training.bucket_queue",
    "ParityQueue": "kernels.training.parity_loop",
    "PieceTable": "kernels.pieces.piece_table",
    "Merges": "kernels.encoding.merge_table",
}
SITE_MODULES = ("mkdocs", "material", "mkdocstrings_handlers.python")

TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in pages.pages(ROOT)}
BLOCKS = [block for page, text in TEXTS.items() for block in pages.blocks_of(page, text)]
RUN = [block for block in BLOCKS if block.kind]
REFERENCE = re.findall(r"^::: ([\w.]+)", TEXTS["docs/reference.md"], flags=re.MULTILINE)


def missing_modules(names: Iterable[str]) -> list[str]:
    """Of the modules, and of the files of shared vocabularies, those that are not there."""
    missing = []
    for name in names:
        try:
            found = (SHARED / "vocabs" / name).exists() if name in FILES else importlib.util.find_spec(name)
        except ModuleNotFoundError:  # of the package that it is in
            found = None
        if not found:
            missing.append(name)
    return missing


def story(rng: random.Random) -> str:
    """Some sentences of a few hundred different words."""
    syllables = [consonant + vowel for consonant in "bdklmnrst" for vowel in "aeio"]
    words = ["".join(rng.choices(syllables, k=rng.choice((1, 1, 2, 3)))) for _ in range(60)]
    return f"Once upon a time, {' '.join(words)}. The end, isn't it?\n"


class Page:
    """The blocks of a page, run one after another: Python's share their names, and all share a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._done: set[pages.Block] = set()
        rng = random.Random(4)
        documents = [story(rng) for _ in range(200)]
        (folder / "corpus.txt").write_text("<|endoftext|>".join(documents), encoding="utf-8")
        (folder / "other.txt").write_text("".join(documents[:20]).upper(), encoding="utf-8")
        (folder / "a-dev.txt").write_text("".join(documents[20:30]), encoding="utf-8")
        (folder / "b-dev.txt").write_text("".join(documents[20:30]).upper(), encoding="utf-8")
        with open(folder / "stories.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"story": document}) + "\n" for document in documents)

    def run_to(self, block: pages.Block) -> None:
        """Run a block, and before it those of its page that have not run and can."""
        for each in RUN:
            if each.page == block.page and each.line <= block.line and each not in self._done:
                self._done.add(each)
                if not missing_modules(each.needs):
                    self._run(each)

    def _run(self, block: pages.Block) -> None:
        if block.kind == "python":
            # So many lines down that a traceback names the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, str(ROOT / block.page), "exec"), self._names)
            return
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.code], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{block.page}:{block.line}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Page]]:
    """The pages that tests have opened, in folders of their own, with `nbbpe` and `python` as commands."""
    commands = tmp_path_factory.mktemp("bin")
    for name, arguments in ("nbbpe", " -m nbbpe"), ("python", ""):
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        command.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(commands), prepend=os.pathsep)
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        patch.delenv("NBBPE_TOKENIZER", raising=False)
        # tiktoken keeps a file that it has downloaded under a digest of its address.
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cached := tmp_path_factory.mktemp("tiktoken")))
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("datasets")))
        for name in FILES.difference(missing_modules(FILES)):
            shutil.copy(SHARED / "vocabs" / name, cached / hashlib.sha1((ENCODINGS + name).encode()).hexdigest())
        yield {}


@pytest.mark.parametrize("block", RUN, ids=[f"{block.page}:{block.line}" for block in RUN])
@pytest.mark.usefixtures("quiet", "no_default")
@pytest.mark.filterwarnings("ignore:1 malformed record was skipped")
def test_a_block_of_code_runs(block, opened, tmp_path_factory, monkeypatch):
    if missing := missing_modules(block.needs):
        pytest.skip(f"needs {', '.join(missing)}")
    if block.page not in opened:
        folder = tmp_path_factory.mktemp("page")
        monkeypatch.chdir(folder)
        opened[block.page] = Page(folder)
    monkeypatch.chdir(opened[block.page]._folder)
    opened[block.page].run_to(block)


def test_blocks_that_are_not_run_are_known():
    """One that is to be left out must be entered in NOT_RUN, where it is seen."""
    counts = {page: sum(block.page == page and not block.kind for block in BLOCKS) for page in TEXTS}
    assert {page: count for page, count in counts.items() if count} == NOT_RUN


def test_blocks_need_only_what_can_be_had():
    """A block that needs what nobody has would never run."""
    assert {name for block in BLOCKS for name in block.needs} <= MODULES | FILES


def test_readme_and_guide_have_blocks_that_run():
    assert {"README.md", "docs/index.md", "docs/guide.md", "docs/recipes.md"} <= {block.page for block in RUN}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```\n1 / 0\n```\n", r"a\.md:1: a block of 'no language'"),
        ("```pycon\n>>> 1\n```\n", r"a\.md:1: a block of 'pycon'"),
        ("Then:\n\n    import nbbpe\n", r"a\.md:3: an indented block"),
        ("```python\nimport nbbpe\n", r"a\.md:1: a fence that is never closed"),
        ("<pre><code>import nbbpe</code></pre>\n", r"a\.md:1: code in HTML"),
        ("Look: ```python\n", r"a\.md:1: a fence that begins or ends in the middle"),
        ("```bash\npip install nbbpe\n```\n", r"a\.md:2: a block of bash that does not begin with nbbpe"),
    ],
)
def test_no_block_hides(text, message):
    with pytest.raises(ValueError, match=message):
        pages.blocks_of("a.md", text)


def test_blocks_are_found_with_their_marks():
    text = "# A\n\n<!-- needs: torch, x.y -->\n```python\na = 1\n```\n\n- b\n\n    ```bash\n    nbbpe warmup\n    ```\n"
    text += "\n<!-- not run: it would take a day -->\n```bash\nrm -r .\n```\n\n```text\nc\n```\n"
    assert pages.blocks_of("a.md", text) == [
        pages.Block("a.md", 5, "python", "a = 1\n", ("torch", "x.y")),
        pages.Block("a.md", 11, "shell", "nbbpe warmup\n"),
        pages.Block("a.md", 16, "", "rm -r .\n"),
        pages.Block("a.md", 20, "", "c\n"),
    ]


def test_a_block_that_fails_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Page(tmp_path)
    with pytest.raises(ZeroDivisionError):
        page._run(pages.Block("docs/a.md", 7, "python", "1 / 0\n"))
    with pytest.raises(AssertionError, match=r"docs/a\.md:9"):
        page._run(pages.Block("docs/a.md", 9, "shell", "false | true\n"))


def test_drawings_show_the_arrays_as_they_are(monkeypatch):
    """`python docs/_site/draw_arrays.py` draws them again."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_site")
    for name, drawn in importlib.import_module("draw_arrays").drawings().items():
        assert (ROOT / "docs" / "assets" / name).read_text(encoding="utf-8") == drawn, name


def test_the_page_of_arrays_names_files_and_fields_that_are_there():
    page = TEXTS["docs/arrays.md"]
    for path in re.findall(r"`(nbbpe/[\w/]+\.py)`", page):
        assert (ROOT / path).is_file(), path
    shown = re.findall(r"^\| `(\w+)\.(\w+)`", page, flags=re.MULTILINE)
    for name, module in ARRAYS.items():
        fields = pkgutil.resolve_name(f"nbbpe.{module}:{name}")._fields
        assert {field for of, field in shown if of == name} == set(fields), name


def test_the_page_of_arrays_gives_the_shapes_of_the_tables_of_a_pattern():
    from nbbpe.kernels.pieces import pattern_tables as layout

    shapes = {}
    for names, types in re.findall(
        r"^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (`uint.*?`) \|", TEXTS["docs/arrays.md"], flags=re.MULTILINE
    ):
        shapes.update(zip(re.findall(r"`(\w+)`", names), re.findall(r"`uint(\d+)\[(.*?)\]`", types), strict=True))
    places = sorted(value for name, value in vars(layout).items() if name in (*shapes, "ASCII_KINDS", "FIXED_BYTES"))
    for name in "ASCII_RULES", "ASCII_CLASSES", "CLASS_RULES", "LOW_CLASSES", "PAGE_OF":
        bits, shape = shapes[name]
        place = getattr(layout, name)
        following = next(each for each in places if each > place)
        assert following - place == int(bits) // 8 * math.prod(map(int, shape.split(", "))), name
    assert shapes["MOVES_AT"] == ("16", f"{layout.MOST_CLASSES + 1}, n_states, 2")


def test_the_page_of_patterns_lists_all_names():
    table = re.findall(r"^\| `.*", TEXTS["docs/patterns.md"].partition("## Named patterns")[2], flags=re.MULTILINE)
    assert {*NAMED, *ALIASES} <= set(re.findall(r"`([^`]+)`", "\n".join(table)))


def test_readme_is_one_page():
    """Without the table of figures, which a program writes."""
    text = re.sub(r"<!-- benchmark:start -->.*<!-- benchmark:end -->", "", TEXTS["README.md"], flags=re.DOTALL)
    assert len(text.splitlines()) <= 200


PLACES = "https://github.com/nbbpe/nbbpe/blob/main/", "https://raw.githubusercontent.com/nbbpe/nbbpe/main/"
LINKS = {page: re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?ms)^```.*?^```$", "", text)) for page, text in TEXTS.items()}


def test_links_of_the_readme_lead_somewhere_from_anywhere():
    """They are absolute, for the page of a package index."""
    for target in LINKS["README.md"]:
        assert target.startswith("https://"), target


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_to_files_and_headings_that_are_there(page):
    for target in LINKS[page]:
        within, place = target, (ROOT / page).parent
        for prefix in PLACES:
            if target.startswith(prefix):
                within, place = target.removeprefix(prefix), ROOT
        if "://" in within or within == "benchmarks/report.md":  # which the site makes
            continue
        name, _, heading = within.partition("#")
        path = (place / name if name else ROOT / page).resolve()
        assert path.is_file(), target
        assert not heading or heading in anchors(TEXTS[path.relative_to(ROOT).as_posix()]), target


def anchors(text: str) -> set[str]:
    """Those of the headings of a page, as GitHub and mkdocs name them."""
    headings = re.findall(r"^#+ (.*?)(?: \{.*\})?$", re.sub(r"(?ms)^```.*?^```$", "", text), flags=re.MULTILINE)
    words = {re.sub(r"[^\w\- ]", "", re.sub(r"\]\(.*?\)", "]", heading)).strip().lower() for heading in headings}
    return {each.replace(" ", "-") for each in words}.union(re.findall(r"\{ #([\w-]+) \}", text))


def test_readme_maps_every_module():
    """Each file or folder of nbbpe/ stands in the map of the code."""
    named = set(re.findall(r"`(?:nbbpe/)?(\w+)(?:\.py|/)`", TEXTS["README.md"]))
    package = Path(nbbpe.__file__).parent
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert {path.stem for path in package.glob("[!_]*.py")} | folders <= named


def test_an_sdist_has_every_page():
    # Else tests that read the pages, as this module does, cannot run from an unpacked sdist.
    lines = [line.split() for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()]
    packed = {name for command, *names in lines if command in ("include", "graft") for name in names}
    packed.add("README.md")  # by pyproject.toml
    assert {page.partition("/")[0] for page in TEXTS} <= packed


def test_every_public_name_is_in_the_reference():
    # nbbpe.hf needs transformers; tests/test_hf.py has it.
    shown = [pkgutil.resolve_name(name) for name in REFERENCE if not name.startswith("nbbpe.hf.")]
    for name in nbbpe.__all__:
        assert getattr(nbbpe, name) in shown, name


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_modules(SITE_MODULES)), reason='needs mkdocs: pip install "nbbpe[docs]"')
def test_site_is_built_and_asks_no_other_host_for_anything(tmp_path):
    # From a copy, so that a report is there and what a checkout lacks does not matter.
    for name in "docs", "nbbpe":
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    report = tmp_path / "benchmarks" / "results" / "REPORT.md"
    html = build(tmp_path)
    assert "There is no report yet" in html["benchmarks/report/index.html"]
    for name in REFERENCE:
        assert f'id="{name}"' in html["reference/index.html"], name
    for made in nbbpe.train, nbbpe.Tokenizer, nbbpe.Tokenizer.encode_file, nbbpe.TokenFile:
        for name in inspect.signature(made).parameters:  # each has an entry of its own
            assert name == "tokenizer" or re.search(rf"<dt>[^/]*<code>{name}</code>", html["reference/index.html"]), name
    about_train = re.sub(r"<[^>]+>|\s+", " ", html["reference/index.html"])
    assert '("data/*.jsonl.gz", "data/**/*.txt")' in about_train.replace("&quot;", '"')

    (report.parent / "plots").mkdir(parents=True)
    (report.parent / "plots" / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    report.write_text("# The report\n\n![a](plots/a.svg) and [a file that is on no page](../report.py), 1.23 s\n")
    (tmp_path / "docs" / "figures").mkdir(exist_ok=True)
    shutil.copy(report.parent / "plots" / "a.svg", tmp_path / "docs" / "figures" / "speed.svg")
    html = build(tmp_path)
    assert 'src="../../figures/speed.svg"' in html["benchmarks/report/index.html"]
    assert "1.23 s" in html["benchmarks/report/index.html"]
    assert (tmp_path / "site" / "benchmarks" / "plots" / "a.svg").exists()
    for page, text in html.items():
        for tag in re.findall(r"<(?:script|link|img|iframe|source|object)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href|data)=["']?(?:https?:)?//""", tag), f"{page}: {tag}"
        assert "mermaid" not in text, f"{page}: mermaid would be fetched from another host"
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", style.read_text(encoding="utf-8")), style


def build(folder: Path) -> dict[str, str]:
    """Build the site as anybody would, and return its pages by their names."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    site = folder / "site"
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
