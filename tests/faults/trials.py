"""Kills of parents and workers, at steps and at moments: what is there afterwards, and what the next run makes of it.

After each: the right output, the older one or none; an error that says what happened; no process left; and after the next
run on the output its files, byte for byte those of an undisturbed one, and nothing else.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import processes
import texts
import victim
from processes import session_of

import nbbpe

STAGES = {
    "train": ["counting", "adding up", "merges", "saving"],
    "count": ["counting", "spilling", "merging runs", "writing", "putting"],
    "encode in threads": ["encoding", "publishing"],
    "encode in processes": ["encoding", "joining", "publishing"],
    "encode records": ["encoding", "joining", "publishing"],
    "resume": ["encoding", "noting", "joining", "handing over", "publishing"],
    "resume records": ["encoding", "noting", "joining", "handing over", "publishing"],
}
IN_WORKERS = ("counting", "spilling", "encoding")
COUNTS = "counts.arrow"
MAIN = {"train": "tok", "count": COUNTS}  # what a job writes, beside ids.bin
_MOST_STEPS = {
    "merges": 20,
    "publishing": 7,
    "adding up": 2,
    "handing over": 2,
    "saving": 12,
    "noting": 24,
    "putting": 6,
    "writing": 6,
}
_PATIENCE = 60.0
_PROMISED = 4.0  # seconds that workers may outlive their parent; two are promised, on a machine that is not busy


class Trial(NamedTuple):
    """What is killed, and when: at a step of a stage, or after a time (`stage` is "")."""

    job: str
    stage: str
    nth: int
    when: str
    whom: str
    seconds: float
    is_older_there: bool


class Outcome(NamedTuple):
    """Whether anything was killed, how many parts were encoded twice, and what is wrong."""

    was_killed: bool
    n_redone: int
    problems: list[str]


def random_trial(source: random.Random) -> Trial:
    """Any trial."""
    job = source.choice(list(STAGES))
    stage = source.choice([*STAGES[job], ""])
    in_workers = stage in IN_WORKERS and job != "encode in threads"
    whom = source.choice(["parent", "worker"]) if in_workers or (not stage and job != "encode in threads") else "parent"
    nth = source.randint(1, _MOST_STEPS.get(stage, 20))
    return Trial(job, stage, nth, source.choice(["before", "after"]), whom, source.uniform(0, 0.35), source.random() < 0.5)


class Place:
    """A folder with sources and tokenizer, and the undisturbed outputs of all jobs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.source = folder / "text.txt"
        self.records = folder / "records.jsonl"
        self.tokenizer = folder / "tok"
        lines = [f"The cat number {i} sat on the mat, and {i * i} more of them didn't." for i in range(1600)]
        self.source.write_text(texts.SPECIAL.join(lines))
        self.records.write_text("".join(json.dumps({"body": line}) + "\n" for line in lines))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbbpe.train(self.source, 400, [texts.SPECIAL]).save(self.tokenizer)
            older = nbbpe.train(iter(["another one"]), 300, [texts.SPECIAL])
        self.log = folder / "log"
        self.older: dict[str, dict[str, bytes]] = {}
        self._older_files: dict[str, dict[str, bytes]] = {}
        self.wanted: dict[str, dict[str, bytes]] = {}
        for job in STAGES:
            out = self.empty_out()
            if job == "train":
                older.save(out / "tok")
            elif job == "count":
                nbbpe.count_words(iter(["another one"]), output=out / COUNTS)
            else:
                older.encode_file(iter(["a", "b"]), out / "ids.bin")
            self.older[job] = contents(out)
            self._older_files[job] = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")}
            shutil.rmtree(out)
            out.mkdir()
            victim.run(job, str(self.tokenizer), str(self.source_of(job)), str(self.output_of(job)))
            self.wanted[job] = contents(out)

    def source_of(self, job: str) -> Path:
        """What a job reads."""
        return self.records if "records" in job else self.source

    def output_of(self, job: str) -> Path:
        """What a job writes."""
        return self._folder / "out" / MAIN.get(job, "ids.bin")

    def empty_out(self) -> Path:
        """The folder of the output, without anything in it."""
        out = self._folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        return out

    def put_older(self, job: str) -> None:
        """Have an older output."""
        for name, data in self._older_files[job].items():
            path = self._folder / "out" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, and what is in them: of counts the words, as batches of a table may be cut anywhere."""
    return {str(path.relative_to(folder)): _content(path) for path in folder.rglob("*") if path.is_file()}


def _content(path: Path) -> bytes:
    if path.name != COUNTS:
        return path.read_bytes()
    import pyarrow as pa

    try:
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all()
    except pa.ArrowInvalid:  # unfinished
        return path.read_bytes()
    return repr((table.schema.metadata, table["word"].to_pylist(), table["count"].to_pylist())).encode()


def run_trial(trial: Trial, place: Place) -> Outcome:
    """Kill, look, and run again."""
    out = place.empty_out()
    if trial.is_older_there:
        place.put_older(trial.job)
    place.log.unlink(missing_ok=True)
    plan = {
        **trial._asdict(),
        "tokenizer": str(place.tokenizer),
        "source": str(place.source_of(trial.job)),
        "output": str(place.output_of(trial.job)),
        "log": str(place.log),
    }
    code, stderr, was_killed = _run_victim(trial, plan)
    problems = []
    if left := processes_left(code.session):
        problems.append(f"processes left: {left}")
    found = contents(out)
    problems += _wrong_output(trial, place, found)
    if trial.whom == "worker" and was_killed:
        if "a worker process ended with exit code -9" not in stderr or code.returncode != 1:
            problems.append(f"exit code {code.returncode}: {stderr[-300:]}")
        if any(".partial" in name for name in os.listdir(out)):
            problems.append(f"left after an error: {os.listdir(out)}")
    elif was_killed and code.returncode != -signal.SIGKILL:
        problems.append(f"exit code {code.returncode}: {stderr[-300:]}")
    elif not was_killed and (code.returncode or stderr):
        problems.append(f"not killed, but exit code {code.returncode}: {stderr[-300:]}")
    is_done = {name: found.get(name) for name in place.wanted[trial.job]} == place.wanted[trial.job]
    first = _noted(place.log)
    place.log.unlink(missing_ok=True)
    _run_again(trial, place)
    again = _noted(place.log)
    if (now := contents(out)) != place.wanted[trial.job]:
        problems.append(f"after the next run: {sorted(now)}, and not the {sorted(place.wanted[trial.job])} that are wanted")
    n_redone = len(first & again)
    if trial.job.startswith("resume") and was_killed and not is_done and n_redone > victim.N_WORKERS:
        problems.append(f"{n_redone} of {len(first)} parts were encoded again")
    return Outcome(was_killed, n_redone if trial.job.startswith("resume") and not is_done else 0, problems)


class _Ended(NamedTuple):
    session: int
    returncode: int


def _run_victim(trial: Trial, plan: dict[str, Any]) -> tuple[_Ended, str, bool]:
    """Run a victim until it ends or is killed; returns its session and exit code, its stderr, and whether it was killed."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("victim.py")), json.dumps(plan)],
        env=processes.environment(PYTHONWARNINGS="ignore"),
        cwd=processes.PACKAGE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    killed = []
    if not trial.stage:
        time.sleep(trial.seconds)
        targets = [process.pid] if trial.whom == "parent" else [p for p in session_of(process.pid) if p != process.pid]
        for pid in targets[:1]:
            if process.poll() is None:
                killed.append(pid)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    killed.pop()
    try:
        stderr = process.communicate(timeout=_PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        stderr = "did not end\n" + process.communicate()[1]
    code = process.returncode
    # A worker that had done all that there was to do when it was killed is not missed.
    was_killed = code == -signal.SIGKILL or (trial.whom == "worker" and code != 0)
    return _Ended(process.pid, code), stderr, was_killed


def processes_left(leader: int) -> list[int]:
    """The processes of a session that do not end within what is promised."""
    end = time.monotonic() + _PROMISED
    while (left := session_of(leader)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _wrong_output(trial: Trial, place: Place, found: dict[str, bytes]) -> list[str]:
    """What is wrong with the output of a run that was killed: it must be the new one, the older one or none.

    A tokenizer that was being saved over another one may be of both; then loading it says so.
    """
    main = "tok/nbbpe.json" if trial.job == "train" else MAIN.get(trial.job, "ids.bin")
    if main not in found:
        return []
    for allowed in place.wanted[trial.job], place.older[trial.job] if trial.is_older_there else {}:
        if main in allowed and all(found.get(name) == data for name, data in allowed.items()):
            return []
    if trial.job == "train":
        try:
            nbbpe.load(place.output_of(trial.job))
        except ValueError as error:
            if "a save to this folder was cut short" in str(error):
                return []
    return [f"there is neither the right output nor the older one: {sorted(found)}"]


def _run_again(trial: Trial, place: Place) -> None:
    """The next run on the output, in this process and its workers, with its parts noted."""
    real = nbbpe.Tokenizer.encode_part
    try:
        victim.note_parts(str(place.log))
        victim.run(trial.job, str(place.tokenizer), str(place.source_of(trial.job)), str(place.output_of(trial.job)))
    finally:
        nbbpe.Tokenizer.encode_part = real  # type: ignore[method-assign]


def _noted(log: Path) -> set[str]:
    return set(log.read_text().split()) if log.exists() else set()
