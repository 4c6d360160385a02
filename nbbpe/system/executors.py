"""Tasks on executors of the user's choice, in any process or machine: a few at a time, results as they come."""

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
MOST_WAITING = 256  # tasks that are handed out and not done: the results of some may wait in memory


def check_executor(executor: Any) -> Any:
    """An executor as given, None for none. Raises TypeError for what has no `submit`, and for a class in place of one."""
    if isinstance(executor, type):
        raise TypeError(f"{_MUST_BE}the class {executor.__name__}: give {executor.__name__}()")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(_MUST_BE + type(executor).__name__)
    return executor


def run_on(executor: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """(number of the task, result of a function) for each task, in the order in which they are done.

    Function and tasks must be picklable if the executor needs that; a task may be run again if its worker was lost. An
    error in one task cancels those that have not begun. Raises TypeError for an executor whose futures are not those of
    `concurrent.futures`, as a Dask client's are not.
    """
    waiting: dict[Any, int] = {}  # futures, with the numbers of their tasks
    # Not futures.wait: it locks all futures, and Ctrl-C in there would leave some locked, for which workers wait for ever.
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
    """Cancel what has not begun, and empty the dict. Ctrl-C is answered before or after, see above."""
    with handlers_later():
        while waiting:
            waiting.popitem()[0].cancel()


def _submitted(executor: Any, function: Callable[[Any], Any], task: Any) -> Any:
    future = executor.submit(function, task)
    if not isinstance(future, futures.Future):
        returned = f"{type(future).__module__}.{type(future).__name__}"
        raise TypeError(f"{_MUST_BE}{type(executor).__name__}, whose submit returns {returned}")
    return future
