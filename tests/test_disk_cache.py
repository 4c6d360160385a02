"""Kernels on disk: where they are found and written, by whom, and what becomes of damaged, foreign and outdated ones.

Each process here compiles one small kernel, or finds it.
"""

from __future__ import annotations

import compileall
import contextlib
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
import pytest
from effort import mostly_slow

import nbbpe
from nbbpe.kernels.compiler import kernel_files, layouts, loader, obtain, plain, store, symbols, target, trusted_folders
from nbbpe.kernels.compiler.jit import KERNELS, Kernel
from nbbpe.kernels.compiler.signature import int64
from nbbpe.kernels.pieces import special_tokens

WARMUP = sys.modules["nbbpe.warmup"]  # the function has the name of its module
pytestmark = pytest.mark.skipif(plain.is_plain(), reason="kernels are compiled by a plain njit")

# Runs a kernel of the nbbpe in folder argv[1]; prints what was compiled. With argv[2], as a user who owns nothing: all that
# is imported is so before, down to Numba's last module, as that user might not be allowed to read Python itself.
USE = (
    """
import os, sys
import numba, numpy as np
sys.path.insert(0, sys.argv[1])
from nbbpe.kernels.training import word_digest as words
assert words.__file__.startswith(sys.argv[1]), words.__file__
if sys.argv[2:]:
    import fcntl
    numba.njit(lambda x: x[0])(np.zeros(1))
    if os.geteuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""
    + processes.RUN_A_KERNEL
)


def use(install: Path, *nobody: str, **environment: str) -> tuple[list[str], str]:
    """What a process that runs the kernel compiled, and what it said."""
    extra = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null", **environment}
    done = processes.ended("-c", USE, install, *nobody, cwd=install, **extra)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def kernels_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.nbk*"))


@pytest.fixture
def install(nobodys_folder) -> Path:
    """A copy of the package, without compiled kernels, that everybody may read."""
    folder = nobodys_folder[0] / "install"
    shutil.copytree(Path(nbbpe.__file__).parent, folder / "nbbpe", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def earlier_kernels(folder: Path, name: str) -> list[Path]:
    """Put files into a folder that earlier sources have left: a kernel of this name, and one of a longer name."""
    folder.mkdir(mode=0o700, exist_ok=True)
    paths = [folder / f"{each}.{kernel_files._PYTHON}.0123456789abcdef.0.nbk" for each in (name, f"{name}_more")]
    for path in paths:
        path.write_bytes(b"old")
    return paths


def make_read_only(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_kernels_are_kept_in_the_package_and_read_there_by_who_may_not_write(install):
    folder = install / "nbbpe" / "kernels" / "__pycache__"
    outdated, others = earlier_kernels(folder, "word_digest.digest_words")
    assert use(install)[0] == ["digest_words"]
    assert not outdated.exists()
    assert others.exists()
    others.unlink()
    assert len(kernels_in(folder)) == 1
    make_read_only(install)
    compiled, said = use(install, "nobody")
    assert compiled == []
    assert said == ""


def test_a_read_only_package_has_its_kernels_in_the_users_cache(install, nobodys_folder):
    make_read_only(install)
    cache = nobodys_folder[0] / "cache"
    cache.mkdir()
    if os.geteuid() == 0:
        os.chown(cache, 65534, 65534)
    for expected in ["digest_words"], []:
        compiled, said = use(install, "nobody", XDG_CACHE_HOME=str(cache))
        assert compiled == expected
        assert "cannot be stored" not in said
    assert len(kernels_in(cache / "nbbpe")) == 1
    assert kernels_in(install) == []


@pytest.mark.parametrize("chosen", ["locked", "locked/below"])
def test_a_chosen_folder_that_cannot_be_made_is_named_and_the_others_are_used(install, nobodys_folder, chosen):
    make_read_only(install)
    folder, cache = nobodys_folder[0], nobodys_folder[0] / "cache"
    (folder / "locked").mkdir(mode=0o555)
    cache.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(cache, 65534, 65534)
    compiled, said = use(install, "nobody", NUMBA_CACHE_DIR=str(folder / chosen), XDG_CACHE_HOME=str(cache))
    assert compiled == ["digest_words"]
    assert said.count("NUMBA_CACHE_DIR is not used, as ") == 1
    assert str(folder / chosen / "nbbpe") in said
    assert "cannot be stored" not in said
    assert len(kernels_in(cache / "nbbpe")) == 1


def test_without_a_folder_to_write_to_kernels_work_and_one_line_says_that_none_is_kept(install, nobodys_folder):
    make_read_only(install)
    closed = nobodys_folder[0] / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    for chosen in "", str(closed):
        compiled, said = use(install, "nobody", XDG_CACHE_HOME=str(closed / "below"), NUMBA_CACHE_DIR=chosen)
        assert compiled == ["digest_words"]
        assert said.count("set NUMBA_CACHE_DIR to the absolute path") == 1
        # The others say that kernels are being compiled, and that the chosen folder is not used.
        assert len(said.splitlines()) == 2 + bool(chosen)
    assert kernels_in(nobodys_folder[0]) == []


@pytest.mark.parametrize("n_processes", mostly_slow([2, 8], usual=[2]))
def test_processes_that_start_at_once_on_an_empty_cache_do_not_break_it(install, tmp_path, n_processes):
    with ThreadPoolExecutor(n_processes) as together:
        running = [together.submit(use, install, NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(n_processes)]
    assert [each.result()[1].count("Traceback") for each in running] == [0] * n_processes
    assert len(kernels_in(tmp_path / "cache")) == 1
    assert kernels_in(install) == []
    assert use(install, NUMBA_CACHE_DIR=str(tmp_path / "cache"))[0] == []


# In this process: a kernel that is made again stands for another process.


def add_one(x):
    return x + 1


def also_add_one(x):
    return x + 1


def obtained(function: Callable[..., int] = add_one) -> obtain.Obtained:
    """What a process obtains that has not used the kernel yet."""
    found = Kernel(function, (int64,)).obtained()
    assert found.entry(1) == 2
    return found


@pytest.fixture
def compiles(tmp_path, monkeypatch) -> Callable[[], bool]:
    """Whether a new kernel of `add_one` is compiled, where kernels lie in `tmp_path`."""
    if plain.is_plain():
        pytest.skip("kernels are compiled by a plain njit")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def use() -> bool:
        found = obtained()
        assert found.folder == str(tmp_path / "nbbpe")
        return found.was_compiled

    return use


@pytest.fixture
def as_if(monkeypatch) -> Callable[[str, object], contextlib.AbstractContextManager[None]]:
    """`as_if(name, value)`: as if something else were installed, which kernel_files.py has by this name."""

    @contextlib.contextmanager
    def changed(name: str, value: object) -> Iterator[None]:
        with monkeypatch.context() as patch:
            patch.setattr(kernel_files, name, value)
            kernel_files.sources.cache_clear()
            try:
                yield
            finally:
                kernel_files.sources.cache_clear()

    return changed


@pytest.fixture
def wheel(tmp_path, monkeypatch) -> Path:
    """Where the installed package has the objects of a wheel; the folder is not made."""
    monkeypatch.setattr(store, "_IN_WHEEL", str(tmp_path / "objects"))
    return tmp_path / "objects"


@pytest.mark.parametrize(
    "damaged",
    [
        *(lambda data, end=end: data[:end] for end in (0, 20, 1000, -1)),
        lambda data: bytes(len(data)),  # what a file system may have kept of it when the power went
        *(lambda data, at=at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in (0, 40, 1500)),
    ],
)
def test_a_damaged_kernel_is_compiled_again(compiles, tmp_path, damaged):
    assert compiles()
    (path,) = tmp_path.rglob("*.nbk")
    path.write_bytes(damaged(path.read_bytes()))
    assert compiles()
    assert not compiles()


def rewritten(path: Path, content: bytes) -> None:
    """Put other content into a stored file, with a digest that is right."""
    path.write_bytes(store._digest(path.name, content) + content)


def test_a_kernel_of_another_name_is_not_taken_for_this_one(compiles, tmp_path):
    assert compiles()
    (path,) = tmp_path.rglob("*.nbk")
    assert obtained(also_add_one).was_compiled
    (other,) = set(tmp_path.rglob("*.nbk")) - {path}
    path.write_bytes(other.read_bytes())
    assert compiles()


@pytest.mark.parametrize("content", [b"", b"x", b"\x7fELF\x02\x01" + bytes(100), b"\x7fELF\x02\x01" + b"\xff" * 100])
def test_what_is_no_object_code_is_compiled_again(compiles, tmp_path, content):
    assert compiles()
    (path,) = tmp_path.rglob("*.nbk")
    rewritten(path, content)
    assert compiles()
    assert not compiles()


def test_llvm_is_given_no_object_code_without_our_entry_for_which_it_may_end_the_process(monkeypatch):
    from llvmlite import binding

    monkeypatch.delattr(binding, "create_mcjit_compiler")
    with pytest.raises(symbols.UnknownObject, match="object code without f"):
        loader.place_with_llvm(b"\x7fELF\x02\x01" + bytes(100), ["f"], {})


def test_object_code_without_our_entry_or_that_refers_to_other_names_is_compiled_again(compiles, tmp_path, monkeypatch):
    assert compiles()
    (path,) = tmp_path.rglob("*.nbk")
    original = path.read_bytes()[store._DIGEST :]
    rewritten(path, original.replace(b"nbbpe_test_disk_cache_add_one", b"nbbpe_test_disk_cache_add_two"))
    assert compiles()
    rewritten(path, original.replace(b"PyLong_AsLongLong", b"PyRun_SimpleStrin"))
    with pytest.raises(symbols.UnknownObject, match="refers to PyRun_SimpleStrin"):
        symbols.check(path.read_bytes()[store._DIGEST :], symbols.addresses([]))
    assert compiles()
    assert not compiles()


def sine(x):
    return int(math.sin(x))


def test_objects_that_refer_to_other_names_are_not_stored(compiles, tmp_path):
    with pytest.raises(symbols.UnknownObject, match=r"refers to .*sin"):
        obtain.compiled(Kernel(sine, (int64,)))
    assert kernels_in(tmp_path) == []


@pytest.fixture
def sources(tmp_path) -> Path:
    """A copy of the sources of kernels."""
    folder = tmp_path / "sources"
    shutil.copytree(store.KERNELS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def change(sources: Path) -> None:
    with open(sources / "machine" / "intrinsics.py", "a", encoding="utf-8") as file:
        file.write("\n")


def test_a_change_of_any_source_compiles_kernels_again(compiles, sources, as_if):
    with as_if("KERNELS", str(sources)):
        assert compiles()
    (sources / "machine" / "intrinsics.py").touch()
    with as_if("KERNELS", str(sources)):
        assert not compiles()
    change(sources)
    with as_if("KERNELS", str(sources)):
        assert compiles()
        assert len(kernel_files.count_stored()) == 1


def test_what_a_process_compiles_after_an_upgrade_is_not_taken_for_the_new_kernels(compiles, sources, as_if, capfd):
    with as_if("KERNELS", str(sources)):
        kernel_files.sources()  # as when the process began
        change(sources)
        found = obtained()
        assert (found.was_compiled, found.folder) == (True, None)
        assert capfd.readouterr().err.count("was replaced while this process ran") == 1
        shutil.rmtree(sources / "pieces")
        obtained(also_add_one)
    assert compiles()


def test_without_sources_a_change_of_what_is_installed_in_their_place_compiles_kernels_again(compiles, sources, as_if):
    compileall.compile_dir(sources, quiet=1, legacy=True)
    for path in sources.rglob("*.py"):
        path.unlink()
    with as_if("KERNELS", str(sources)):
        assert compiles()
        assert not compiles()
    with open(sources / "machine" / "intrinsics.pyc", "ab") as file:
        file.write(b" ")
    with as_if("KERNELS", str(sources)):
        assert compiles()
    shutil.rmtree(sources)
    with as_if("KERNELS", str(sources)), pytest.raises(FileNotFoundError, match="installed in a folder"):
        kernel_files.sources()


def test_two_versions_of_nbbpe_side_by_side_keep_their_own_kernels(compiles, sources, as_if):
    change(sources)
    compiled = []
    for version in [store.KERNELS, str(sources)] * 2:
        with as_if("KERNELS", version):
            compiled.append(compiles())
    assert compiled == [True, True, False, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_while_it_writes_a_kernel_leaves_none_that_is_read(compiles, tmp_path, monkeypatch):
    def killed() -> None:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        obtained()

    assert processes.exit_code(processes.fork(killed)) == -signal.SIGKILL
    (partial,) = tmp_path.rglob("*.nbk.*")
    assert partial.stat().st_size > 0
    assert compiles()
    assert not compiles()
    assert partial.exists()  # another process may be writing it still


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path):
    folder = trusted_folders.PrivateFolder(str(tmp_path / "kernels"))
    folder.write("one.nbk", b"1")
    names = "one.nbk", "former.nbk", "two.nbk", "x"
    left, former, new, other = (tmp_path / "kernels" / f"{name}.0123456789abcdef" for name in names)
    for path in left, former, new, other:
        path.write_bytes(b"half")
    for path in left, former, other:
        os.utime(path, (0, 0))
    folder.write("one.nbk", b"2")
    folder.write("two.nbk", b"2")
    assert [left.exists(), former.exists(), new.exists(), other.exists()] == [False, False, True, True]


def test_an_error_of_a_signals_handler_while_a_kernel_is_read_is_not_lost(monkeypatch):
    def read(*_):
        raise TimeoutError("that took too long")

    monkeypatch.setattr(trusted_folders.Folder, "read", read)
    with pytest.raises(TimeoutError, match="that took too long"):
        kernel_files.read(special_tokens.add_nodes.name)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_on_a_full_disk_a_kernel_runs_and_nothing_is_left(compiles, tmp_path):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # a write fails in the middle of a file
    try:
        found = obtained()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found.was_compiled
    assert found.folder is None
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["compiling.lock"]
    assert left[0].read_bytes() == b""
    assert compiles()
    assert not compiles()


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_an_upgrade_compiles_kernels_again_and_the_former_are_found_again(compiles, as_if, package):
    assert compiles()
    with as_if("version_of", lambda name: "999" if name == package else store.version_of(name)):
        assert compiles()
        assert not compiles()
    assert not compiles()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("NUMBA_OPT", "2"), ("NUMBA_CPU_FEATURES", "+other"), ("NUMBA_CPU_NAME", "other")],
    ids=["settings", "features", "processor"],
)
def test_what_the_user_asks_for_is_a_part_of_a_kernels_name(compiles, monkeypatch, variable, value):
    assert compiles()
    with monkeypatch.context() as set_by_user:
        set_by_user.setenv(variable, value)
        assert kernel_files.read("test_disk_cache.add_one") is None
    assert not compiles()


@pytest.mark.parametrize("variable", ["NUMBA_WARNINGS", "NUMBA_COLOR_SCHEME", "NUMBA_CUDA_LOG_LEVEL", "NUMBA_NUM_THREADS"])
def test_a_setting_that_changes_no_kernel_is_not_a_part_of_its_name(compiles, monkeypatch, variable):
    assert compiles()
    monkeypatch.setenv(variable, "1")
    assert not compiles()


@pytest.mark.parametrize(
    ("name", "value"),
    [("layouts", lambda: layouts.layouts()._replace(type_at=16)), ("_FORMAT", 999)],
    ids=["layouts", "format"],
)
def test_what_a_kernel_was_made_for_is_a_part_of_its_name(compiles, as_if, name, value):
    assert compiles()
    with as_if(name, value):
        assert kernel_files.read("test_disk_cache.add_one") is None
    assert not compiles()


def test_outdated_kernels_are_kept_in_a_folder_that_other_installations_may_use(compiles, tmp_path):
    paths = earlier_kernels(tmp_path / "nbbpe", "test_disk_cache.add_one")
    assert compiles()
    assert all(path.exists() for path in paths)


def test_versions_are_known_without_importing_the_packages():
    import llvmlite
    import numba

    assert store.version_of("numba") == numba.__version__
    assert store.version_of("llvmlite") == llvmlite.__version__
    assert store.version_of("nothing_of_this_name") == ""


# Objects for others


def test_kernels_for_a_wheel_are_found_whatever_numba_there_is(compiles, wheel, as_if, monkeypatch):
    assert obtain.obtain_object(Kernel(add_one, (int64,)), str(wheel)) == (str(wheel), True)
    with as_if("version_of", lambda _: ""):
        found = obtained()
        assert (found.folder, found.was_compiled) == (str(wheel), False)
        monkeypatch.setenv("NUMBA_OPT", "2")  # who sets this wants kernels compiled so
        assert obtained().was_compiled


@pytest.mark.skipif(not target.host().triple.startswith("x86_64"), reason="names of other processors")
def test_kernels_for_a_kind_of_processors_are_found_by_those_of_this_kind_only(compiles, wheel, monkeypatch):
    kernel = Kernel(add_one, (int64,))
    content = obtain.compiled(kernel)
    for label in "x86-64", "x86-64-v2", "x86-64-v2+sse4a", "x86-64-v4", "generic+nothing":
        name = kernel_files._others_name(kernel.name, label)
        wheel.mkdir(exist_ok=True)
        (wheel / name).write_bytes(store._digest(name, label.encode()) + label.encode())
    own = target.host()
    for features, expected in [
        ("", b"x86-64"),
        ("+sse3", b"x86-64"),
        (",".join(f"+{each}" for each in target.LEVELS["x86-64-v2"]), b"x86-64-v2"),
        (",".join(f"+{each}" for each in target.LEVELS["x86-64-v3"] | {"sse4a"}), b"x86-64-v2+sse4a"),
        (",".join(f"+{each}" for each in target.LEVELS["x86-64-v4"]), b"x86-64-v4"),
    ]:
        monkeypatch.setattr(target, "host", lambda features=features: own._replace(processor="other", features=features))
        found = kernel_files.read(kernel.name)
        assert found is not None
        assert found.content == expected
    assert content


@pytest.mark.parametrize("cpu", [3, None, [3]])
def test_what_is_no_name_of_a_processor_is_an_error(cpu):
    with pytest.raises(TypeError, match="cpu must be the name of a processor, or a list of them, not"):
        WARMUP.warmup(cpu=cpu)


@pytest.mark.parametrize("label", ["", "x86-64-v9", "znver4", "x86-64-v3,x86-64-v4", "native"])
def test_an_unknown_processor_is_an_error_that_names_those_that_are_known(label):
    with pytest.raises(ValueError, match="give one of generic"):
        target.parse(label)


@pytest.mark.parametrize(
    ("triple", "example"),
    [("x86_64-unknown-linux-gnu", "x86-64-v4+avx512vbmi"), ("aarch64-unknown-linux-gnu", "generic+lse")],
)
def test_the_processors_that_an_error_names_are_of_the_architecture_of_this_machine(monkeypatch, triple, example):
    monkeypatch.setattr(target, "host", lambda: target.Target(triple, "generic", ""))
    with pytest.raises(target.UnknownProcessor) as caught:
        target.parse("native")
    assert example in str(caught.value)
    assert ("x86" in str(caught.value)) == triple.startswith("x86")


@pytest.mark.skipif(not target.host().triple.startswith("x86_64"), reason="features of other processors are not known")
@pytest.mark.parametrize("label", ["x86-64-v4+avx512_vbmi", "x86-64-v3+../a", "x86-64-v3+", "generic+AVX2"])
def test_an_unknown_feature_of_a_processor_is_an_error_and_not_ignored(label):
    with pytest.raises(ValueError, match="LLVM does not know the feature '"):
        WARMUP.warmup(cpu=[label])
    assert target.parse_wanted("x86-64-v4+avx512vbmi+avx512vbmi2").features == "+avx512vbmi,+avx512vbmi2"
    assert target.parse_wanted("x86-64-v3").features == ""


def test_warmup_for_another_processor_writes_what_a_process_for_it_finds(tmp_path):
    label = "x86-64-v3" if target.host().triple.startswith("x86_64") else "generic"
    script = """
import sys, nbbpe.warmup
from nbbpe.kernels.compiler import jit
from nbbpe.kernels.training import word_digest
def compile_one(into):
    from nbbpe.kernels.compiler import obtain
    folder, compiled = obtain.obtain_object(word_digest.digest_words, into)
    return int(compiled), int(folder is None)
if len(sys.argv) > 3:
    print(*compile_one(sys.argv[1]))
"""
    name, features = label, ""
    extra = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(tmp_path / "none")}
    folder = tmp_path / "objects"
    assert processes.run(script, str(folder), label, "go", **extra).split() == ["1", "0"]
    (path,) = folder.iterdir()
    assert f".for-{label}." in path.name


@pytest.mark.parametrize(("value", "enabled"), [("0", 0), ("1", 1), ("00", 0), ("", 1), ("no", 1)])
def test_without_avx_as_a_setting_of_numba_says_kernels_are_made_for_what_numba_compiles(monkeypatch, value, enabled):
    from numba.core import codegen, config

    monkeypatch.setenv("NUMBA_ENABLE_AVX", value)
    monkeypatch.setattr(config, "ENABLE_AVX", enabled)
    assert target.present().features == codegen.get_host_cpu_features()


@pytest.mark.parametrize("name", ["ivybridge", "nocona", "skylake"])
def test_where_numba_uses_no_avx_by_itself_kernels_are_made_for_what_numba_compiles(monkeypatch, name):
    from numba.core import codegen, config

    with monkeypatch.context() as changed:
        changed.setenv("NUMBA_CPU_NAME", name)
        changed.delenv("NUMBA_ENABLE_AVX", raising=False)
        config.reload_config()
        assert target.present().features == codegen.get_host_cpu_features()
    config.reload_config()


def test_where_the_system_says_nothing_of_the_processor_kernels_are_made_for_what_numba_compiles(monkeypatch, tmp_path):
    from numba.core import codegen, config

    (tmp_path / "cpuinfo").write_bytes(b"")
    real = open

    def open_empty(path, *arguments, **options):
        return real(tmp_path / "cpuinfo" if path == "/proc/cpuinfo" else path, *arguments, **options)

    for cached in target._present, target._first_processor:
        cached.cache_clear()
    with monkeypatch.context() as changed:
        changed.delenv("NUMBA_ENABLE_AVX", raising=False)
        changed.setattr("builtins.open", open_empty)
        changed.setattr(config, "ENABLE_AVX", config._os_supports_avx())
        assert target.present().features == codegen.get_host_cpu_features()
    for cached in target._present, target._first_processor:
        cached.cache_clear()


@pytest.mark.skipif(not target.present().has("avx2"), reason="other processors have one form")
def test_a_processor_that_only_numbas_own_files_name_is_refused(monkeypatch, tmp_path):
    from numba.core.registry import cpu_target

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cpu_target.target_context.codegen(), "_tm_features", "")
    with pytest.raises(target.UnknownProcessor, match=r"without avx2.*\.numba_config\.yaml"):
        obtained()
    assert kernels_in(tmp_path) == []


@pytest.mark.parametrize("name", ["BOUNDSCHECK", "LOOP_VECTORIZE", "features"])
def test_what_is_compiled_with_settings_that_the_environment_does_not_have_is_not_stored(
    compiles, monkeypatch, tmp_path, capfd, name
):
    from numba.core import config
    from numba.core.registry import cpu_target

    obtain._say_why_none_is_kept.cache_clear()
    with monkeypatch.context() as changed:
        if name == "LOOP_VECTORIZE":
            pytest.importorskip("yaml")
            (tmp_path / ".numba_config.yaml").write_text("loop_vectorize: 0\nnum_threads: 1\n")
            changed.chdir(tmp_path)
        elif name == "BOUNDSCHECK":
            config.reload_config()  # which would take it back
            changed.setattr(config, name, 1)
        else:
            codegen = cpu_target.target_context.codegen()
            changed.setattr(codegen, "_tm_features", codegen._tm_features + ",+more")
        found = obtained()
        assert (found.was_compiled, found.folder) == (True, None)
        assert f"has other settings than the environment ({'NUMBA_' * name.isupper()}{name})" in capfd.readouterr().err
    assert compiles()
    assert not compiles()


@pytest.mark.parametrize("where", ["file", "profiling"])
def test_settings_that_change_no_kernel_or_are_in_its_name_leave_it_stored(compiles, monkeypatch, tmp_path, where):
    from numba.core import config

    with monkeypatch.context() as changed:
        if where == "file":
            pytest.importorskip("yaml")
            (tmp_path / ".numba_config.yaml").write_text("color_scheme: dark_bg\nwarnings: 0\ncuda_log_level: debug\n")
            changed.chdir(tmp_path)
        else:
            changed.setenv("NUMBA_ENABLE_PROFILING", "1")
        config.reload_config()
        assert compiles()
        assert not compiles()
    config.reload_config()


def test_kernels_for_a_wheel_do_not_hold_where_they_were_made():
    obtain.obtain_object(special_tokens.add_nodes)  # others are looked at if they are stored
    for kernel in KERNELS:
        found = kernel_files.read(kernel.name)
        assert found is None or os.fsencode(store.KERNELS) not in found.content, kernel.name


@pytest.mark.parametrize("executable", [None, "", "/opt/blender"])
def test_warmup_for_another_processor_says_that_there_is_no_python_to_start(executable, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(RuntimeError, match=f"{executable!r} .sys.executable. is not a Python that can be started"):
        nbbpe.warmup(tmp_path / "objects", ["generic"])


def test_warmup_takes_one_processor_and_a_folder_as_bytes(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(WARMUP, "_in_another_process", lambda into, label: asked.append((into, label)) or (0, 0))
    monkeypatch.setattr(WARMUP, "store_tables", lambda into: None)
    nbbpe.warmup(os.fsencode(tmp_path / "objects"), "generic")
    assert asked == [(str(tmp_path / "objects"), "generic")]


def test_warmup_follows_a_symlink_before_two_dots(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    os.symlink(tmp_path / "a" / "b", "link")
    monkeypatch.setattr(WARMUP, "_in_another_process", lambda into, label: (0, 0))
    monkeypatch.setattr(WARMUP, "store_tables", lambda into: None)
    nbbpe.warmup("link/../objects", "generic")
    assert os.listdir() == ["link"]
    assert (tmp_path / "a" / "objects").is_dir()


def test_warmup_for_another_processor_runs_no_code_of_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "nbbpe").mkdir()
    (tmp_path / "nbbpe" / "__init__.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path, tmp_path])  # no str, so that Python does not look there
    run = subprocess.run

    def compile_nothing(command: list[str], **options: object) -> object:
        return run([*command[:-1], command[-1].replace("compile_for_another('folder')", "print(2, 0)")], **options)

    monkeypatch.setattr(subprocess, "run", compile_nothing)
    assert WARMUP._in_another_process("folder", "generic") == (2, 0)


@pytest.mark.parametrize(
    ("instead", "told"),
    [
        (None, "a plain njit compiles cannot be written to a folder for others: unset NUMBA_BOUNDSCHECK and"),
        ("import os; os._exit(3)", "the process that compiles them ended with exit code 3"),
    ],
)
def test_warmup_for_another_processor_that_fails_says_why(instead, told, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    run = subprocess.run

    def run_instead(command: list[str], **options: object) -> object:
        return run([*command[:-1], instead or command[-1]], **options)

    monkeypatch.setattr(subprocess, "run", run_instead)
    with pytest.raises(RuntimeError, match=f"kernels for the processor 'generic' could not be compiled: .*{told}"):
        WARMUP._in_another_process(str(tmp_path / "objects"), "generic")
    assert "Traceback" not in capfd.readouterr().err


# What objects refer to


def mach_o(names: list[str]) -> bytes:
    """A Mach-O object with a table of symbols: the first is defined, the others are not."""
    text = b"\0" + b"".join(f"_{name}\0".encode() for name in names)
    entries, at = b"", 1
    for i, name in enumerate(names):
        entries += struct.pack("<IBBHQ", at, 0x0F if i == 0 else 0x01, 1 if i == 0 else 0, 0, 0)
        at += len(name) + 2
    header = struct.pack("<4s7I", b"\xcf\xfa\xed\xfe", 0, 0, 1, 2, 16 + 24, 0, 0)
    commands = struct.pack("<4I", 0x32, 16, 0, 0)
    symbols_at = len(header) + len(commands) + 24
    commands += struct.pack("<6I", 2, 24, symbols_at, len(names), symbols_at + len(entries), len(text))
    return header + commands + entries + text


def test_the_names_that_an_object_refers_to_are_read_from_it():
    assert symbols.referred(mach_o(["nbbpe_entry", "PyList_Size", "memcpy"])) == {"PyList_Size", "memcpy"}
    if not plain.is_plain():
        names = symbols.referred(obtain.compiled(Kernel(add_one, (int64,))))
        assert {"PyEval_SaveThread", "PyLong_AsLongLong", "PyLong_FromLongLong"} <= names
        assert names <= set(symbols.addresses([]))
    for content in b"", b"MZ", b"\x7fELF", b"\xcf\xfa\xed\xfe", mach_o(["a", "b"])[:50]:
        with pytest.raises(symbols.UnknownObject):
            symbols.check(content, set())
