"""Moves the files of a saved tokenizer from the scratch folder that transformers wrote to their folder."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from typing import NamedTuple

from ..system.atomic_files import made_folder, name_before, put_together


class Saving(NamedTuple):
    """Where and how a tokenizer is saved.

    folder      : where the files are to be
    keeps_class : whether the files name NbbpeTokenizerFast
    """

    folder: str
    keeps_class: bool

    def publish(self, new: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """Copy all files of the folder `new`; the first of `names`, the config, last. Returns the new paths of `names`."""
        files = {os.path.join(folder, name) for folder, _, found in os.walk(new) for name in found}
        with ExitStack() as stack:
            finished = []
            for file in [*sorted(files.difference(names[:1])), names[0]]:
                path = self._published(new, file)
                stack.enter_context(made_folder(os.path.dirname(path)))
                whole = stack.enter_context(name_before(path))
                shutil.copyfile(file, whole)
                finished.append((whole, path))
            put_together(finished)
        return tuple(self._published(new, name) for name in names)

    def _published(self, new: str, file: str) -> str:
        return os.path.join(self.folder, os.path.relpath(file, new))
