"""The progress bar of the scripts."""

from __future__ import annotations

from tqdm import tqdm


class ProgressBar(tqdm):  # type: ignore[misc, unused-ignore]
    """A bar on stderr, if that is a terminal, which goes away when it is done; otherwise nothing is shown."""

    # No monitor thread: it would still be there when nbbpe forks its workers, of which Python 3.12 and later warn.
    monitor_interval = 0

    def __init__(self, description: str, total: int | None, unit: str = "B", initial: int = 0) -> None:
        super().__init__(
            desc=description, total=total, initial=initial, unit=unit, unit_scale=True, disable=None, leave=False
        )
