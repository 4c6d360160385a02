"""The house: imports only go down, `import nbbpe` is light, public names are there and described, kernels compile once."""

from __future__ import annotations

import ast
import functools
import graphlib
import inspect
import re
import sys
from pathlib import Path
from typing import NamedTuple

import processes
import pytest
from conftest import ROOT
from effort import mostly_slow

import nbbpe
from nbbpe.kernels.compiler import plain

PACKAGE = Path(nbbpe.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Folders are layers, from the top; "" is the top of nbbpe/. A module may import its own layer and those below, also for its
# annotations. The table is that of the map in README.
LAYERS = [
    *(
        "__main__",
        "cli",
        "hf",
        "inspection",
        "",
        "tokenizer_methods",
        "vocabulary",
        "words",
        "idfiles",
        "encoding",
        "training",
        "counting",
        "formats",
        "formats.transformers_folder",
        "formats.nbbpe_folder",
        "formats.tokenizer_json",
        "formats.vocab_json",
        "formats.ranks",
        "formats.regexes",
        "formats.shared",
        "sources",
        "model",
        "text",
        "patterns",
        "system",
    ),
    *(
        "kernels.encoding",
        "kernels.training",
        "kernels.records",
        "kernels.pieces",
        "kernels.machine",
        "kernels.compiler",
        "kernels",
    ),
]
PUBLIC = ["StreamDecoder", "TokenFile", "Tokenizer", "encode_array", "find_chunk_boundaries", "load", "train", "train_bpe"]
PUBLIC += ["explain_pattern", "use", "warmup", "encode", "decode", "TokenRules", "Mixture", "Parity", "Superwords"]
PUBLIC += ["count_words"]
ENCODING = ["encode", "encode_array", "encode_ordinary", "encode_batch", "encode_iterable", "encode_file", "encode_padded"]
ENCODING += [
    "encode_batch_flat",
    "encode_batch_arrays",
    "encode_pair",
    "encode_segments",
    "encode_arrow",
    "count",
    "verify",
    "njit_tables",
]
DECODING = ["decode", "decode_bytes", "decode_batch", "decode_arrow", "decode_with_offsets", "stream_decoder"]
SHOWING = ["tokenize", "show"]
FORMATS = ["from_hf", "to_hf", "save_gpt2", "to_tiktoken", "save_tiktoken", "save_tekken", "save_pretrained"]
METHODS = [
    *ENCODING,
    *DECODING,
    *SHOWING,
    *FORMATS,
    "token_to_id",
    "id_to_token",
    "save",
    "load",
    "from_files",
    "from_tiktoken",
    *("with_special_tokens", "rename_special_tokens"),
    *("extend", "truncate", "prune", "drop", "frequencies", "unused", "unreachable", "report"),
]
PROPERTIES = ["vocab", "merges", "special_tokens", "vocab_size", "dtype", "pattern", "normalizer", "fingerprint"]
PROPERTIES += ["provenance", "token_bytes"]


def layer_of(module: str) -> str:
    """The layer of a module, by its name below nbbpe."""
    parts = module.split(".")
    folder = ".".join(parts[:2])
    return folder if folder in LAYERS else parts[0] if parts[0] in LAYERS else ""


def module_of(path: Path) -> str:
    """The name of a file's module below nbbpe; of a folder, the folder's."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def imports(path: Path, for_types: bool = True) -> set[str]:
    """Every module that a file imports, those inside of functions too; nbbpe's own begin with "nbbpe.".

    for_types : whether also what it imports for its annotations only
    """
    package = ["nbbpe", *path.relative_to(PACKAGE).parts[:-1]]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    if not for_types:
        blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        skipped = {node for block in blocks for statement in block.body for node in ast.walk(statement)}
    names = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            # `from .x import y` names a module and what is in it, or a package and a module; `from . import x` modules.
            inside = [node.module] if node.module else [alias.name for alias in node.names]
            names |= {".".join([*base, name]) for name in inside}
            if node.module and (PACKAGE.parent / Path(*base, *node.module.split("."), "__init__.py")).exists():
                names |= {".".join([*base, node.module, alias.name]) for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_go_down(path):
    own = LAYERS.index(layer_of(module_of(path)))
    for name in imports(path):
        # What a folder says of itself may name what lies in it.
        inside = ".".join(["nbbpe", *path.relative_to(PACKAGE).parent.parts, ""])
        if name.startswith("nbbpe.") and not (path.name == "__init__.py" and name.startswith(inside)):
            assert LAYERS.index(layer_of(name.removeprefix("nbbpe."))) >= own, f"{path} imports {name}"


def test_no_module_needs_itself_by_way_of_others():
    """Within a layer, too, there is an order, for annotations as well."""
    names = {".".join(["nbbpe", *path.relative_to(PACKAGE).with_suffix("").parts]): path for path in FILES}
    names = {name.removesuffix(".__init__"): path for name, path in names.items()}
    graph = {name: imports(path) & set(names) for name, path in names.items()}
    assert sum(map(len, graph.values())) > 100
    order = list(graphlib.TopologicalSorter(graph).static_order())  # CycleError names the circle
    assert order.index("nbbpe.model.model") < order.index("nbbpe.formats.vocab_json.gpt2") < order.index("nbbpe.tokenizer")


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "kernels").rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_kernels_import_only_kernels_numpy_and_numba(path):
    for name in imports(path):
        if name.startswith("nbbpe."):
            assert name.split(".")[1] == "kernels"
        else:
            root = name.split(".")[0]
            assert root in {"numpy", "numba", "llvmlite"} or root in sys.stdlib_module_names, name


def test_regex_is_known_to_text_patterns_and_formats_only():
    users = {module_of(path).split(".")[0] for path in FILES if "regex" in {name.split(".")[0] for name in imports(path)}}
    assert users <= {"text", "patterns", "formats"}


def test_no_module_is_without_a_docstring():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_the_docstring_of_a_folder_names_what_lies_in_it():
    for path in FILES:
        folder = path.parent
        if path.name == "__init__.py" and folder != PACKAGE:
            named = set(re.findall(r"[\w/.]*\w\.py\b|\w+/", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))))
            for name in named:
                assert (folder / name).exists() or not name.endswith(".py"), f"{folder} has no {name}"
            modules = {each.name for each in folder.glob("*.py")} - {"__init__.py"}
            modules |= {f"{each.parent.name}/" for each in folder.glob("*/__init__.py")}
            assert modules <= named, f"{path} says nothing of {modules - named}"


def test_importing_nbbpe_is_light():
    script = (
        "import sys, nbbpe; print('numba' in sys.modules, 'llvmlite' in sys.modules, 'multiprocessing.pool' in sys.modules)"
    )
    assert processes.run(script).split() == ["False"] * 3


def test_the_public_names_are_those_of_the_design():
    assert sorted(nbbpe.__all__) == sorted(PUBLIC)
    for name in PUBLIC:
        assert inspect.getdoc(getattr(nbbpe, name))
    for name in METHODS + PROPERTIES:
        assert inspect.getdoc(getattr(nbbpe.Tokenizer, name)), name
    assert re.fullmatch(r"\d+\.\d+\.\d+", nbbpe.__version__)
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (
            "train",
            "source vocab_size special_tokens pattern tie_break min_frequency max_token_length workers progress field "
            "on_error",
        ),
        ("train_bpe", "input_path vocab_size special_tokens"),
        ("find_chunk_boundaries", "file desired_num_chunks split_special_token"),
        ("Tokenizer", "vocab merges special_tokens pattern max_pieces normalizer"),
        ("Tokenizer.from_files", "vocab_path merges_path special_tokens"),
        ("Tokenizer.from_hf", "path_or_tokenizer normalizer"),
        ("Tokenizer.save_gpt2", "self vocab_path merges_path version_line"),
        ("Tokenizer.from_tiktoken", "path_or_encoding pattern special_tokens"),
        ("Tokenizer.encode", "self text allowed_special disallowed_special"),
        ("Tokenizer.encode_array", "self text allowed_special disallowed_special"),
        ("Tokenizer.encode_file", "tokenizer input_path output_path workers progress separator field on_error"),
        ("Tokenizer.decode", "self ids errors"),
        ("encode_array", "text"),
        ("explain_pattern", "pattern text"),
        ("load", "source check"),
        ("TokenFile", "path tokenizer dtype separator_ids check"),
        ("TokenFile.windows", "self block_size rng batch_size"),
        ("TokenFile.epoch", "self block_size batch_size rank world_size seed drop_last"),
    ],
)
def test_the_public_parameters_are_those_of_the_design(function, parameters):
    found = nbbpe
    for name in function.split("."):
        found = getattr(found, name)
    assert list(inspect.signature(found).parameters)[: len(parameters.split())] == parameters.split()


def test_every_documented_parameter_exists_and_every_parameter_is_documented():
    for name in "train", "count_words", "Tokenizer", "TokenFile", "TokenFile.windows", "TokenFile.epoch":
        function = functools.reduce(getattr, name.split("."), nbbpe)
        text = inspect.getdoc(function)
        for parameter in set(inspect.signature(function).parameters) - {"self"}:
            assert re.search(rf"^\s*(\w+, )*{parameter}\b", text, re.MULTILINE), f"{name} says nothing of {parameter}"


# What a process needs is on disk after `warmup`, whatever it does, and then it has no use for Numba.

USE = r"""
import base64, importlib, json, pathlib, sys, tempfile, warnings
import numpy as np
import nbbpe
from nbbpe.counting import parallel_counting
from nbbpe.idfiles import division
warnings.simplefilter("ignore")
parallel_counting.MIN_BYTES_FOR_WORKERS = division.MIN_BYTES_FOR_WORKERS = 100
text = "It's the cat's mat, isn't it? 12 é 中文 \n\n  x/y 's" * 20 + "a" * 700 + " b" * 90
folder = pathlib.Path(tempfile.mkdtemp(dir=sys.argv[1]))
(folder / "t.txt").write_text(text + "<|s|>" + text, encoding="utf-8")
(folder / "empty.txt").write_text("")
try:
    import pyarrow, pyarrow.parquet
    pyarrow.parquet.write_table(pyarrow.table({"text": [text, None, ""]}), folder / "t.parquet")
    tables = [folder / "t.parquet"]
except ImportError:
    tables = []
(folder / "t.jsonl").write_text(json.dumps({"text": text + "<|s|>"}) + '\n{"text": ""}\n')
for tie_break in "bytes", "ids", "huggingface":
    tok = nbbpe.train(folder / "t.txt", 320, ["<|s|>"], tie_break=tie_break)
for pattern in "gpt2", r"\w+|\W+", None:
    tok = nbbpe.train(iter([text, b"\xff", ""]), 300, ["<|s|>", "t"], pattern=pattern)
    tok = nbbpe.train(iter([text]), 50_000, pattern=pattern, min_frequency=2)
    tok = nbbpe.train([folder / "t.txt", folder / "t.jsonl", *tables] * 2, 300, on_error="skip", workers=2, pattern=pattern)
    tok = nbbpe.Tokenizer(tok.vocab, tok.merges, ["<|s|>"], pattern, max_pieces=100)
    wide = nbbpe.Tokenizer(tok.vocab | {70_000: b"zz"}, tok.merges, ["a"], pattern)
    for each in tok, nbbpe.Tokenizer(tok.vocab, tok.merges), wide:
        each.encode(text + "<|s|>" + " ".join(map(str, range(30_000))))
        each.encode(b""); each.encode("x", allowed_special=()); each.encode_ordinary(text)
        each.decode(each.encode(text)); each.decode(each.encode_array(text).astype(np.int64))
        each.encode_batch([text] * 3); list(each.encode_iterable([text, "", "a<|", "s|>"]))
        for name in "a.bin", "a.npy":
            each.encode_file(folder / "t.txt", folder / name, workers=2)
            each.encode_file(folder / "t.txt", folder / name, split_with="regex")
            each.encode_file(folder / "empty.txt", folder / name)
            each.encode_file(folder / "t.jsonl", folder / name, separator=next(iter(each.special_tokens), None))
for more in [], [b"ab", b"abc"], [b"xyz", b"th", b" the cat sat on"]:
    tokens = [bytes([i]) for i in range(256)] + more
    (folder / "ranks").write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(t), i) for i, t in enumerate(tokens)))
    for pattern in "cl100k", "o200k", None:
        tok = nbbpe.Tokenizer.from_tiktoken(folder / "ranks", pattern or r"\w+|\W+", ["<|s|>"])
        tok.encode(text + "<|s|>"); list(tok.encode_iterable([text]))
tok = nbbpe.train(iter([text]), 300)
tok.to_hf(folder / "t.json"); tok.save_tiktoken(folder / "ranks")
hugging = json.loads((folder / "t.json").read_text(encoding="utf-8"))
hugging["model"] |= {"ignore_merges": True, "vocab": hugging["model"]["vocab"] | {"xyz": 300}}
(folder / "t.json").write_text(json.dumps(hugging), encoding="utf-8")
nbbpe.load(folder / "t.json").encode(text)
larger = tok.extend(documents=[text], vocab_size=tok.vocab_size + 9)
tok.frequencies(folder / "t.txt"); wide.frequencies(folder / "t.txt", workers=1); larger.unreachable()
larger.truncate(tok.vocab_size); larger.prune(folder / "t.txt", 290)
nbbpe.use(tok); nbbpe.encode_array("x")
tok.decode([97] * 100_000)
"""

SHOW = r"""
import sys
from nbbpe.kernels.compiler import jit
print("numba" in sys.modules, sum(kernel.was_compiled for kernel in jit.KERNELS))
print(*(kernel.name for kernel in jit.KERNELS if kernel.was_obtained and kernel.obtained().folder))
"""


class Warm(NamedTuple):
    """What `warmup` did.

    environment : the variables that name its folder
    kernels     : the names of all kernels that it stored or found
    """

    environment: dict[str, str]
    kernels: list[str]


@pytest.fixture(scope="module", params=mostly_slow(["the usual folder", "an empty folder"], usual=["the usual folder"]))
def warm(request, tmp_path_factory) -> Warm:
    """Kernels that `warmup` stored; to compile all takes twenty seconds, so by default those are used that are there."""
    if plain.is_plain():
        pytest.skip("kernels are compiled by a plain njit")
    environment = {}
    if request.param == "an empty folder":
        environment["NUMBA_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    script = """
import nbbpe
print(nbbpe.warmup().n_lost)
from nbbpe.kernels.compiler.jit import KERNELS
print(*(kernel.name for kernel in KERNELS))
"""
    n_lost, *kernels = processes.run(script, **environment).split()
    assert n_lost == "0"
    assert len(kernels) > 20
    return Warm(environment, kernels)


def test_a_second_warmup_compiles_nothing(warm):
    script = "import nbbpe; print(nbbpe.warmup().n_compiled)"
    assert processes.run(script, **warm.environment).split() == ["0"]


def test_a_process_that_found_its_kernels_does_all_without_numba(warm, tmp_path):
    *_, state, used = processes.run(USE + SHOW, tmp_path, **warm.environment).splitlines()
    assert state == "False 0"
    assert set(used.split()) <= set(warm.kernels)  # and not what others left in this folder
    for name in (
        "merge_loop.merge_batch",
        "encode_text.encode_pieces",
        "count_pieces.count_pieces",
        "special_tokens.find_specials",
        "linked_words.link_symbols",
        "pair_table.link_bytes",
        "count_ids.count_short_ids",
        "count_ids.count_long_ids",
        "decode_ids.decode_ids",
    ):
        assert name in used.split(), name


def test_numba_is_known_to_kernels_only():
    for path in FILES:
        if not layer_of(module_of(path)).startswith("kernels"):
            assert not any(name.split(".")[0] in {"numba", "llvmlite"} for name in imports(path)), path


def test_ci_names_files_of_tests_that_are_there():
    """Another name of a file would be found there only, after half an hour."""
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("needs the checkout, with .ci")
    lists = re.findall(r"tests/test_\{([\w,]+)\}\.py", script.read_text(encoding="utf-8"))
    assert len(lists) > 1
    for name in ",".join(lists).split(","):
        assert (ROOT / "tests" / f"test_{name}.py").exists(), name
