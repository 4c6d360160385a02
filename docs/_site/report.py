"""A hook of mkdocs: the benchmark report as a page of the site, where benchmarks have written one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

PAGE = "benchmarks/report.md"
FIGURES = {".svg", ".png"}
NONE_YET = """# Benchmark report

There is no report yet. From a checkout, this measures and writes one:

```bash
pip install -e ".[bench]"
pytest --benchmark-only
python benchmarks/report.py
```
"""


def on_files(files: Files, config: Any) -> Files:
    """Add the report, with the figures beside it and those of docs/figures after it."""
    folder = Path(config.config_file_path).parent / "benchmarks" / "results"
    report = folder / "REPORT.md"
    if not report.is_file():
        files.append(File.generated(config, PAGE, content=NONE_YET))
        return files
    figures = [path for path in folder.rglob("*") if path.suffix in FIGURES]
    names = {path.relative_to(folder).as_posix() for path in figures}
    text = without_dead_links(report.read_text(encoding="utf-8"), names)
    drawn = sorted(file.src_uri for file in files if file.src_uri.startswith("figures/") and file.src_uri.endswith(".svg"))
    if drawn:
        text += "\n## Figures\n" + "".join(f"\n![{Path(uri).stem}](../{uri})\n" for uri in drawn)
    files.append(File.generated(config, PAGE, content=text))
    for path, name in zip(figures, (path.relative_to(folder).as_posix() for path in figures), strict=True):
        files.append(File.generated(config, f"benchmarks/{name}", abs_src_path=str(path)))
    return files


def without_dead_links(text: str, names: set[str]) -> str:
    """Markdown with links to files that are on no page replaced by their words."""

    def kept(link: re.Match[str]) -> str:
        target = link["target"].removeprefix("./").partition("#")[0]
        there = not target or "://" in target or target in names
        return link[0] if there else link["words"]

    return re.sub(r"!?\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)", kept, text)
