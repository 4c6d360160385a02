"""Checks of arguments that give many items, as a list or another iterable: of texts, lists of ids, paths."""

from __future__ import annotations

from collections.abc import Mapping

# How to get the data of an object without any, by a method that identifies it: a lazy frame, pyarrow's scanner or data set.
_WAYS_TO_DATA = {"collect_schema": ".collect()", "scan_batches": ".to_reader()", "scanner": ".scanner().to_reader()"}


def gives_names(texts: object) -> bool:
    """Whether an iterable gives only the names of what it holds, as a dict and a DataFrame do."""
    return isinstance(texts, Mapping) or hasattr(texts, "columns")


def of_a_split(texts: object, argument: str) -> str:
    """Advice for a dict of data sets by split, as `datasets` loads one: to give a column of one; else ""."""
    if not (isinstance(texts, Mapping) and texts and hasattr(texts, "column_names")):
        return ""
    return f"give a column of one split, such as {argument}[{next(iter(texts))!r}]['text']"


def check_collected(data: object, argument: str) -> None:
    """Raise TypeError for an object without data or Arrow's C interface: a lazy frame, a data set of pyarrow."""
    if hasattr(data, "__arrow_c_stream__"):
        return
    for method, advice in _WAYS_TO_DATA.items():
        if hasattr(data, method):
            raise TypeError(f"{argument} is a {type(data).__name__}, which has no data yet: give {argument}{advice}")


def check_ordered(items: object, argument: str, kind: str = "texts") -> None:
    """Raise TypeError for a set, which gives its items in another order in each process, unlike a view of a dict."""
    if isinstance(items, (set, frozenset)):
        raise TypeError(
            f"{argument} must be a list of {kind}, not {type(items).__name__}, which has no order: give "
            f"sorted({argument}), or a list in the order that is meant"
        )


def check_items(items: object, argument: str, kind: str, in_order: bool = True) -> None:
    """Raise TypeError for an object without items, and for one that gives the names of its items, such as a dict.

    argument, kind : what errors call the items, and what each of them is
    in_order       : whether their order matters, so that a set is refused, too
    """
    if type(items) is list:
        return
    check_collected(items, argument)
    if in_order:
        check_ordered(items, argument, kind)
    wanted = f"{argument} must be a list of {kind}, or any iterable of them, not {type(items).__name__}"
    if not (hasattr(items, "__iter__") or hasattr(items, "__getitem__")):  # many data sets have only the second
        raise TypeError(wanted)
    if gives_names(items):
        advice = of_a_split(items, argument) or f"give one of its columns, or list({argument}.values())"
        raise TypeError(f"{wanted}, of which only the names would be taken: {advice}")
    if kind == "texts" and type(items).__module__.startswith("pyarrow."):  # its items are not str
        raise TypeError(f"{wanted}: encode_arrow takes Arrow data, and {argument}.to_pylist() is such a list")


def check_texts(texts: object, argument: str = "texts", in_order: bool = True) -> None:
    """Raise what `check_items` does, and TypeError for one text instead of many, whose letters, or bytes, would become
    texts."""
    if type(texts) is list:
        return
    check_items(texts, argument, "texts", in_order)
    try:
        is_one = isinstance(texts, str) or memoryview(texts).format.lstrip("<>") in ("B", "b", "c")  # type: ignore[arg-type]
    except (TypeError, ValueError):  # NumPy raises ValueError for an array of StringDType
        return
    if is_one:
        raise TypeError(f"{argument} must be a list of texts, or any iterable of them, not one {type(texts).__name__}")
