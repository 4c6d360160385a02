"""The arguments of `nbbpe.train` that name what to learn words from."""

from __future__ import annotations

from typing import Any, NamedTuple

from .mixture import Mixture
from .parity import Parity


class Corpus(NamedTuple):
    """The text or counts to learn words from, and their weights: arguments of `nbbpe.train`, not checked."""

    source: Any = None
    documents: Any = None
    counts: Any = None
    weights: Any = None

    @property
    def is_nothing(self) -> bool:
        """Whether the only argument is an empty list of documents."""
        has_others = any(each is not None for each in (self.source, self.counts, self.weights))
        return not has_others and isinstance(self.documents, (list, tuple)) and not self.documents

    @property
    def parity(self) -> Parity | None:
        """The `Parity` of a mixture; None without one."""
        parity = self.source.parity if isinstance(self.source, Mixture) else None
        return parity if isinstance(parity, Parity) else None
