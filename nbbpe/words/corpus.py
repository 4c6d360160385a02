"""What to learn words from, as a user gives it."""

from __future__ import annotations

from typing import Any, NamedTuple

from .mixture import Mixture
from .parity import Parity


class Corpus(NamedTuple):
    """Arguments of `nbbpe.train` that say what to learn words from, and how much each of it counts; not checked."""

    source: Any = None
    documents: Any = None
    counts: Any = None
    weights: Any = None

    @property
    def is_nothing(self) -> bool:
        """Whether an empty list of documents is all that there is."""
        has_others = any(each is not None for each in (self.source, self.counts, self.weights))
        return not has_others and isinstance(self.documents, (list, tuple)) and not self.documents

    @property
    def parity(self) -> Parity | None:
        """The parity between the sources of a mixture, if it is wanted."""
        parity = self.source.parity if isinstance(self.source, Mixture) else None
        return parity if isinstance(parity, Parity) else None
