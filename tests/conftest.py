"""What all tests share: the Hypothesis profile, the shared data, and a few tokenizers."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import effort
import guard_pages
import pytest
import texts
from _pytest import runner
from hypothesis import HealthCheck, is_hypothesis_test, settings
from sizes import OF_EVERYTHING, SIZES

import nbbpe
from nbbpe.kernels.compiler import plain
from nbbpe.kernels.compiler.jit import Kernel

# What fails in these is shown with its values, as in a test.
pytest.register_assert_rewrite("automata", "limits", "piece_tables", "processes", "records", "training_structures")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"

# A shell starts what is to run in the background with Ctrl-C ignored, and nohup with SIGHUP, and so would be all that the
# tests start, some of which is to be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What tests write as root is to be read by others where a test says so, whatever files of this user are usually.
os.umask(0o022)

# Nor must what somebody has set for Python on this machine make a test pass, or fail: the processes that tests start have
# it as Python has it by itself, and a test that needs it otherwise sets it.
for _name in (
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "PYTHONWARNINGS",
    "PYTHONDEVMODE",
):
    os.environ.pop(_name, None)

settings.register_profile(
    "nbbpe",
    max_examples=effort.examples(20, 100),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("nbbpe")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of Hypothesis exhaustive, by the number of examples above."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.exhaustive)


def pytest_collection_finish() -> None:
    """Have the garbage collector not go through all tests and modules again and again: they stay."""
    gc.collect()
    gc.freeze()


def _with_room(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    runner.runtestprotocol(item, nextitem=nextitem)


# Python maps memory for its frames by 16 kB, and unmaps it when the first frame in it returns. Where a loop happens to call
# across such an edge, each call does so, which has doubled its time. A frame that asks for much gets twice as much, and
# what is called from it stays in one piece of memory.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=33_000)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest does it, with room for frames."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    _with_room(item, nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    effort.running = item


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data: text/ and vocabs/."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the shared texts and vocabularies in {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def stories(shared: Path) -> Path:
    """A file of 200 kB of stories with special tokens between them."""
    return shared / "text" / "tinystories_sample.txt"


@pytest.fixture(scope="session")
def gpt2(shared: Path) -> nbbpe.Tokenizer:
    """GPT-2's own tokenizer."""
    folder = shared / "vocabs"
    return nbbpe.Tokenizer.from_files(folder / "gpt2_vocab.json", folder / "gpt2_merges.txt", [texts.SPECIAL])


@pytest.fixture
def gpt2_of_tokenizers(shared: Path) -> Any:
    """GPT-2's tokenizer as Hugging Face's `tokenizers` has it."""
    tokenizers = pytest.importorskip("tokenizers")
    files = [str(shared / "vocabs" / name) for name in ("gpt2_vocab.json", "gpt2_merges.txt")]
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return theirs


@pytest.fixture(scope="session")
def small() -> nbbpe.Tokenizer:
    """A tokenizer of 400 tokens with a special token; it is read only, as every test has the same."""
    return nbbpe.train(iter([texts.SAMPLE, "the cat sat on the mat " * 3, "ababab aaa"]), 400, [texts.SPECIAL])


@pytest.fixture(scope="session")
def other() -> nbbpe.Tokenizer:
    """A tokenizer of other merges than `small` has, without special tokens; it is read only, too."""
    return nbbpe.train(iter([texts.SAMPLE[::-1], "a cat has sat there at that mat " * 3, "baba aab"]), 350)


@pytest.fixture
def quiet():
    """No warnings about pairs that run out."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the text has pairs")
        yield


@pytest.fixture(scope="session")
def all_is_imported(small, tmp_path_factory) -> None:
    """Other users may not be able to read Python's own modules, as where they lie in root's home."""
    package = Path(nbbpe.__file__).parent
    for path in package.rglob("*.py"):
        name = ".".join(["nbbpe", *path.relative_to(package).with_suffix("").parts])
        if not name.startswith(("nbbpe.__main__", "nbbpe.hf")):  # which would run, and would import transformers
            importlib.import_module(name.removesuffix(".__init__"))
    folder = tmp_path_factory.mktemp("warm")
    small.save(folder / "tok")
    nbbpe.load(folder / "tok")
    small.encode_file(iter(["the cat", "sat"]), folder / "ids.bin")


@pytest.fixture
def nobodys_folder(all_is_imported) -> Iterator[tuple[Path, Callable[[], contextlib.AbstractContextManager[None]]]]:
    """A folder that anybody may enter, and `as_nobody()`, within which this process may not do what only root may."""
    folder = Path(tempfile.mkdtemp(prefix="nbbpe-test-"))
    folder.chmod(0o755)

    @contextlib.contextmanager
    def as_nobody() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)

    yield folder, as_nobody
    for path in folder.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def guarded_arrays() -> Iterator[None]:
    """NumPy's arrays lie between pages that may not be touched (see guard_pages.py)."""
    if not guard_pages.AVAILABLE:
        yield
        return
    with guard_pages.guarded_memory().used():
        yield


@pytest.fixture(scope="module", autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """No test leaves a thread for which Python would wait when it ends."""
    before = set(threading.enumerate())
    yield
    left = {thread for thread in threading.enumerate() if not thread.daemon} - before
    for thread in left:
        thread.join(10)
    assert [thread for thread in left if thread.is_alive()] == []


@pytest.fixture(scope="module", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Only a power cut shows what is not synced, and tests cannot have one: they look at what is synced, and when.

    Processes that tests start by a command sync as always, and so do benchmarks.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture
def sizes(monkeypatch) -> Callable[..., None]:
    """Sets sizes by their names in sizes.py."""

    def set_sizes(**by_name: float) -> None:
        for name, n in by_name.items():
            for module, attribute in SIZES[name]:
                monkeypatch.setattr(module, attribute, n)

    return set_sizes


@pytest.fixture
def processors(monkeypatch) -> Callable[[int], None]:
    """Sets how many processors this process may use."""
    monkeypatch.setattr("nbbpe.system.processors.most_at_once", lambda: None)
    return lambda n: monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(n)), raising=False)


@pytest.fixture
def as_known(monkeypatch) -> None:
    """Numba is as it is known, so far; whatever a test finds is forgotten after it."""
    monkeypatch.setattr(plain, "_took_over", False)


@pytest.fixture
def no_default(monkeypatch) -> None:
    """This process has no default tokenizer, and none is left when the test ends."""
    monkeypatch.setattr(nbbpe.default_tokenizer, "_default", None)
    monkeypatch.delenv("NBBPE_TOKENIZER", raising=False)


@pytest.fixture
def bucket() -> Iterator[str]:
    """A folder in fsspec's memory, by its URL."""
    fsspec = pytest.importorskip("fsspec", reason='needs fsspec: pip install "nbbpe[data]"')
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    yield "memory://bucket"
    filesystem.store.clear()


@pytest.fixture
def watched(monkeypatch) -> Callable[..., contextlib.AbstractContextManager[None]]:
    """`watched(kernel, look)`: a context in which `look(status, *arguments)` is called after each call of a kernel."""

    @contextlib.contextmanager
    def watch(kernel: Kernel, look: Callable[..., object]) -> Iterator[None]:
        def call(*arguments: object) -> int:
            status = kernel(*arguments)
            look(status, *arguments)
            return status

        with monkeypatch.context() as patch:
            patch.setattr(f"{kernel.__module__}.{kernel.__name__}", call)
            yield

    return watch


@pytest.fixture
def cut_everywhere(sizes) -> Callable[[int], None]:
    """Sets all sizes to a few bytes, and has workers for any file."""

    def cut(n: int) -> None:
        sizes(**dict.fromkeys(OF_EVERYTHING, n), joined=max(n // 2, 1), for_workers=0)

    return cut
