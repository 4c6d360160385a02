"""Run tasks on an executor of the user's, such as Dask's: a limited number at a time, with results as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from queue import SimpleQueue
from typing import Any

from .lazy import imported_on_use
from .signals_later import handlers_later
from .waiting import next_item

futures: Any = imported_on_use("concurrent.futures")

_MUST_BE = "executor must be a concurrent.futures.Executor, such as Dask's client.get_executor(), not "
MOST_WAITING = 256  # tasks submitted whose results are not yielded yet; some of these may wait in memory


def check_executor(executor: Any) -> Any:
    """Return an executor, or None, as given. Raises TypeError if it has no `submit`, or is a class, not an instance."""
    if isinstance(executor, type):
        raise TypeError(f"{_MUST_BE}the class {executor.__name__}: give {executor.__name__}()")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(_MUST_BE + type(executor).__name__)
    return executor


def run_on(executor: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Run a function on each task; yield (number of the task, result) in the order in which tasks end.

    Function and tasks must be picklable if the executor needs that; a task may be run again if its worker was lost. An
    error in one task cancels those that have not begun. Raises TypeError if the futures of the executor are not of
    `concurrent.futures`; those of a Dask client are not.
    """
    waiting: dict[Any, int] = {}  # futures, with the numbers of their tasks
    # Not futures.wait: it locks all futures, and Ctrl-C inside it could leave some locked: workers would wait for ever.
    done: SimpleQueue[Any] = SimpleQueue()
    rest = enumerate(tasks)
    try:
        while True:
            for number, task in islice(rest, MOST_WAITING - len(waiting)):
                waiting[future := _submitted(executor, function, task)] = number
                with handlers_later():
                    future.add_done_callback(done.put)
            if not waiting:
                return
            number = waiting.pop(future := next_item(done))
            yield number, future.result()
    finally:
        try:
            _cancel(waiting)
        except BaseException:  # another Ctrl-C
            _cancel(waiting)
            raise


def _cancel(waiting: dict[Any, int]) -> None:
    """Cancel the futures that have not begun, and empty the dict. Ctrl-C takes effect before or after."""
    with handlers_later():
        while waiting:
            waiting.popitem()[0].cancel()


def _submitted(executor: Any, function: Callable[[Any], Any], task: Any) -> Any:
    future = executor.submit(function, task)
    if not isinstance(future, futures.Future):
        returned = f"{type(future).__module__}.{type(future).__name__}"
        raise TypeError(f"{_MUST_BE}{type(executor).__name__}, whose submit returns {returned}")
    return future
