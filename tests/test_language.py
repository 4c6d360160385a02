"""Phrases that had a clearer term, and may not come back (the terms are in CONTRIBUTING.md).

Only what is settled is here: a phrase that is always wrong in this project.
"""

from __future__ import annotations

import re

import pages
import pytest
from conftest import ROOT

SAY = {
    r"bad records?": "malformed record",
    r"of (?:your|the user's) own|of one's own": "custom",
    r"cannot be meant": "invalid",
    r"(?:is|are) no (?:valid|UTF-8)": "invalid",
    r"whose (?:ids )?they are": "which tokenizer made them",
    r"link leads": "symlink, and what it points to",
    r"JSON beside": "sidecar",
    r"remember\w*|forg[eo]t\w*": "cache, evict",
    r"(?<!\[:)\bblanks?\b": "space, whitespace",  # but for the POSIX class
    r"(?<!struct\.)\bunpack(?:s|ed|ing)?\b": "decompress",
    r"\bsome (?=\d)": "about",
    r"\banew\b": "again",
    r"\bbit by bit\b|\bin bits\b": "in chunks",
    r"white space": "whitespace",
    r"\bfore(?:told|tells?)\b": "predict",
}
TEXTS = [*(ROOT / page for page in pages.pages(ROOT)), *sorted((ROOT / "nbbpe").rglob("*.py"))]


@pytest.mark.parametrize("path", TEXTS, ids=[str(path.relative_to(ROOT)) for path in TEXTS])
def test_one_word_for_each_idea(path):
    text = path.read_text(encoding="utf-8")
    for phrase, better in SAY.items():
        for found in re.finditer(phrase, text):
            line = text.count("\n", 0, found.start()) + 1
            pytest.fail(f"{path.name}:{line}: {found[0]!r}; say {better}", pytrace=False)
