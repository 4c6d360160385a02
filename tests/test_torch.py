"""PyTorch's DataLoader with nbbpe in its workers, however they start; skipped where torch is not installed."""

from __future__ import annotations

import multiprocessing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import texts

import nbbpe
from nbbpe.idfiles import division

torch = pytest.importorskip("torch", reason="needs torch, which no extra installs: pip install torch")

pytestmark = pytest.mark.torch

TEXTS = [texts.SAMPLE, "the cat", texts.SPECIAL, " a\n", "", "the cat sat on the mat " * 30, "naïve " * 9, "ab" * 400]
BLOCK = 8


# Loaders send what they run to their workers, so it stands here by name.


class EncodedTexts(torch.utils.data.Dataset):
    """Texts that the process's default tokenizer encodes."""

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, i: int) -> np.ndarray:
        assert torch.utils.data.get_worker_info() is not None
        return nbbpe.encode_array(TEXTS[i])


class Errors(EncodedTexts):
    """What encoding without a default says. Sent as text: an error would end the loader while its other worker starts."""

    def __getitem__(self, i: int) -> str:
        with pytest.raises(RuntimeError) as told:
            nbbpe.encode_array(TEXTS[i])
        return str(told.value)


class TextsOf(EncodedTexts):
    """Texts that a tokenizer of its own encodes, one by one, as a batch, and by way of a file."""

    def __init__(self, tokenizer: nbbpe.Tokenizer, folder: Path) -> None:
        self.tokenizer = tokenizer
        self.folder = folder

    def __getitem__(self, i: int) -> np.ndarray:
        assert multiprocessing.current_process().daemon  # which must not start processes of its own
        division.MIN_BYTES_FOR_WORKERS = 0
        ids = self.tokenizer.encode_array(TEXTS[i])
        text, out = self.folder / f"{i}.txt", self.folder / f"{i}.bin"
        text.write_text(TEXTS[i], encoding="utf-8", newline="")
        assert self.tokenizer.encode_file(text, out, workers=2) == len(ids)
        assert all(np.array_equal(ids, again) for again in self.tokenizer.encode_batch_arrays([TEXTS[i]] * 3))
        return ids


class Blocks(torch.utils.data.Dataset):
    """Each block of a TokenFile: shuffling and sharing out are left to the loader."""

    def __init__(self, file: nbbpe.TokenFile) -> None:
        self.file = file

    def __len__(self) -> int:
        return (len(self.file) - 1) // BLOCK

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        ids = self.file.ids[i * BLOCK : (i + 1) * BLOCK + 1].astype(np.int64)
        return ids[:-1], ids[1:]


class Epoch(torch.utils.data.IterableDataset):
    """Batches of a TokenFile's epoch, shared out among the loader's workers."""

    def __init__(self, file: nbbpe.TokenFile) -> None:
        self.file = file

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return self.file.epoch(BLOCK, 2, rank=worker.id, world_size=worker.num_workers, seed=3, drop_last=False)


class Windows(torch.utils.data.IterableDataset):
    """Five random batches of a TokenFile for each worker."""

    def __init__(self, file: nbbpe.TokenFile) -> None:
        self.file = file

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        batches = self.file.windows(BLOCK, np.random.default_rng([7, worker.id]), batch_size=3)
        return (next(batches) for _ in range(5))


def identity(item):
    """What a batch of one is to be made into: itself, and no tensor."""
    return item


def use_folder(folder: str, worker_id: int) -> None:
    nbbpe.use(folder)


@pytest.fixture(params=["fork", "spawn", "forkserver"])
def load(request):
    """A function from a dataset to the items of a DataLoader with two workers."""
    if request.param not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {request.param}")

    def items(dataset, **options) -> list:
        return list(torch.utils.data.DataLoader(dataset, num_workers=2, multiprocessing_context=request.param, **options))

    items.method = request.param
    return items


@pytest.fixture
def file(small, tmp_path) -> nbbpe.TokenFile:
    (tmp_path / "text.txt").write_text("".join(TEXTS), encoding="utf-8", newline="")
    small.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin")
    return nbbpe.TokenFile(tmp_path / "ids.bin", small)


def assert_same(found: list, wanted: list) -> None:
    assert len(found) == len(wanted)
    for ids, expected in zip(found, wanted, strict=True):
        assert ids.dtype == expected.dtype
        assert np.array_equal(ids, expected)


# Text in the workers


@pytest.mark.usefixtures("no_default")
@pytest.mark.parametrize("how", ["variable", "init"])
def test_encode_array_in_workers(load, small, tmp_path, monkeypatch, how):
    small.save(tmp_path / "tokenizer")
    wanted = [small.encode_array(text) for text in TEXTS]
    if how == "variable":
        if load.method == "forkserver":
            pytest.skip("workers have the environment in which the fork server started")
        monkeypatch.setenv("NBBPE_TOKENIZER", str(tmp_path / "tokenizer"))
        found = load(EncodedTexts(), batch_size=None, collate_fn=identity)
    else:
        init = partial(use_folder, str(tmp_path / "tokenizer"))
        found = load(EncodedTexts(), batch_size=None, collate_fn=identity, worker_init_fn=init)
    assert_same(found, wanted)


@pytest.mark.usefixtures("no_default")
def test_a_default_set_before_is_forked_and_missed_elsewhere(load, small):
    nbbpe.use(small)
    small.encode("warm up")
    if load.method == "fork":
        found = load(EncodedTexts(), batch_size=None, collate_fn=identity)
        assert_same(found, [small.encode_array(text) for text in TEXTS])
    else:
        for told in load(Errors(), batch_size=None, collate_fn=identity):
            assert told.startswith("no default tokenizer: call nbbpe.use")


def test_a_tokenizer_travels_with_its_dataset_and_workers_start_no_processes(load, small, tmp_path):
    found = load(TextsOf(small, tmp_path), batch_size=None, collate_fn=identity)
    assert_same(found, [small.encode_array(text) for text in TEXTS])


def test_ids_become_tensors(load, small, monkeypatch, tmp_path):
    # Torch knows uint16 arrays since 2.3; a default collate makes tensors of them.
    found = load(TextsOf(small, tmp_path), batch_size=None)
    for tensor, text in zip(found, TEXTS, strict=True):
        assert isinstance(tensor, torch.Tensor)
        assert tensor.tolist() == small.encode(text)


# Ids in the workers


def test_a_token_file_in_a_map_style_dataset(load, file):
    generator = torch.Generator().manual_seed(0)
    batches = load(Blocks(file), batch_size=4, shuffle=True, generator=generator)
    x, y = (torch.cat(part) for part in zip(*batches, strict=True))
    assert x.dtype == y.dtype == torch.int64
    n = len(Blocks(file))
    wanted = np.asarray(file.ids[: n * BLOCK + 1]).astype(np.int64)
    order = np.lexsort(x.numpy().T)
    expected = wanted[:-1].reshape(n, BLOCK), wanted[1:].reshape(n, BLOCK)
    assert np.array_equal(x.numpy()[order], expected[0][np.lexsort(expected[0].T)])
    assert np.array_equal(y[:, :-1], x[:, 1:])


def test_an_epoch_over_workers_holds_every_block_once(load, file):
    batches = load(Epoch(file), batch_size=None)
    x = torch.cat([x for x, _ in batches])
    n = (len(file) - 1) // BLOCK
    wanted = np.asarray(file.ids[: n * BLOCK]).astype(np.int64).reshape(n, BLOCK)
    assert sorted(x.tolist()) == sorted(wanted.tolist())
    for x, y in batches:
        assert torch.equal(y[:, :-1], x[:, 1:])


def test_random_windows_in_workers_are_those_of_their_generators(load, file):
    batches = load(Windows(file), batch_size=None)
    found = sorted(x.tolist() for x, _ in batches)
    wanted = []
    for worker in range(2):
        windows = file.windows(BLOCK, np.random.default_rng([7, worker]), batch_size=3)
        wanted += [next(windows)[0].tolist() for _ in range(5)]
    assert found == sorted(wanted)


def test_a_batch_becomes_tensors_without_a_copy(file):
    x, y = next(file.windows(BLOCK, 0, batch_size=2))
    tensor = torch.from_numpy(x)
    tensor[0, 0] = -1
    assert x[0, 0] == -1
    assert torch.from_numpy(y).shape == (2, BLOCK)


# Ids and tensors


@pytest.mark.parametrize("name", ["int64", "int32", "int16", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("n_times", [1, 3000])  # by look-ups, and by the compiled loop
def test_tensors_of_all_integer_types_are_decoded(small, name, n_times):
    ids = small.encode(texts.SAMPLE) * n_times
    tensor = torch.tensor(ids).to(getattr(torch, name))
    assert small.decode(tensor) == texts.SAMPLE * n_times
    assert small.decode(tensor[::2]) == small.decode(ids[::2])  # which is not contiguous
    rows = tensor.reshape(n_times, -1)
    assert small.decode_batch(rows) == [texts.SAMPLE] * n_times
    assert small.stream_decoder().feed(tensor[:5]) == small.decode_bytes(ids[:5]).decode(errors="ignore")


def test_tensors_that_are_no_ids_in_an_order_are_errors(small):
    ids = torch.tensor(small.encode("the cat"))
    assert small.decode(list(ids)) == "the cat"  # tensors without a dimension
    for bad, message in (
        (ids.float(), "ids must be integers, not an array of float32"),
        (ids > 0, "ids must be integers, not an array of bool"),
        (ids[None], "decode_batch takes a text in each row"),
        (torch.tensor([97, -100]), "id -100 at index 1 is not in the vocabulary"),
    ):
        with pytest.raises(ValueError, match=message):
            small.decode(bad)
    with pytest.raises(TypeError, match="to decode it alone"):
        small.decode(ids[0])


def test_a_type_of_torchs_is_an_error_that_names_numpys(small):
    with pytest.raises(TypeError, match=r"dtype must be an integer type of NumPy, such as 'uint16', not torch\.int64"):
        small.encode_array("the cat", dtype=torch.int64)
