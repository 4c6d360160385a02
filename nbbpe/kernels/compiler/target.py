"""Which processor kernels are compiled for, and whether this processor can run kernels made for others."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
from typing import NamedTuple

from .store import read_data, version_of, write_data

_V2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# Levels of processors, and the features that a processor of each must have.
LEVELS = {"generic": set[str](), "x86-64": set[str](), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
# On these processors Numba uses no AVX by default: it is slow there, or is reported and missing.
_WITHOUT_AVX = {"corei7-avx", "core-avx-i", "sandybridge", "ivybridge", "nocona"}
DECISIVE = ("avx2", "avx512vbmi2")  # the features by which intrinsics choose their form

# The fields of /proc/cpuinfo that do not change while the machine runs.
_CONSTANT = {
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
}


class Target(NamedTuple):
    """What kernels are compiled for.

    triple    : architecture, vendor and system, as LLVM names them
    processor : LLVM's name, or one of LEVELS
    features  : differences between the processor and its name, as "+avx2,-sse4a"
    """

    triple: str
    processor: str
    features: str

    def has(self, feature: str) -> bool:
        """Whether code for this target may use a feature."""
        return f"+{feature}" in self.features.split(",") or feature in LEVELS.get(self.processor, ())


class UnknownProcessor(ValueError):
    """A processor that kernels cannot be compiled for in advance."""


@functools.cache
def host() -> Target:
    """The target of this machine, for which Numba compiles by default.

    Asking LLVM takes 50 ms and 40 MB, so the answer is stored, under a digest of the system's description of the processor.
    """
    about = _about_processor()
    if about is None:
        return _detected()
    name = f"processor.{hashlib.sha256(repr((about, version_of('llvmlite'))).encode()).hexdigest()[:32]}.json"
    found = read_data(name)
    if found is None:
        found = json.dumps(_detected()).encode()
        write_data(name, found)
    return Target(*json.loads(found))


@functools.cache
def _first_processor() -> list[str] | None:
    """The lines in which Linux describes the first processor; None on other systems."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return list(itertools.takewhile(str.strip, file))
    except OSError:
        return None


def _about_processor() -> list[str] | None:
    """The lines of `_first_processor` that do not change; None if they lack the features."""
    kept = [line for line in _first_processor() or () if line.partition(":")[0].strip() in _CONSTANT]
    # With the features: "flags" of x86, "Features" of ARM.
    return kept if any(line.lower().startswith(("flags", "features")) for line in kept) else None


def _detected() -> Target:
    from llvmlite import binding

    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot detect them on this system
        features = ""
    return Target(binding.get_process_triple(), binding.get_host_cpu_name(), features)


def present() -> Target:
    """The target of this process: this machine, unless Numba's settings name another processor."""
    return _present(*map(os.environ.get, ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")))


@functools.cache
def _present(processor: str | None, features: str | None, enable_avx: str | None) -> Target:
    own = host()
    if features is None:  # as Numba does
        features = "" if processor == "generic" else own.features
        if not _enables_avx(processor or own.processor, enable_avx):
            features = features.replace("+avx", "-avx")
    return Target(own.triple, processor or own.processor, features)


def _enables_avx(processor: str, setting: str | None) -> bool:
    """Whether Numba compiles with AVX for a processor that has it; `setting` is NUMBA_ENABLE_AVX, None if it is not set."""
    if setting is None:
        return processor not in _WITHOUT_AVX and not _hides_avx()
    try:
        return int(setting) != 0
    except ValueError:
        return True


def _hides_avx() -> bool:
    """Whether Linux does not report AVX for an x86 processor, for example as /proc/cpuinfo is empty."""
    lines = _first_processor()
    if lines is None or not host().triple.startswith("x86_64"):
        return False
    return not any(line.startswith("flags") and "avx" in line.split() for line in lines)


def parse(label: str) -> Target:
    """The target of a label such as "x86-64-v3" or "x86-64-v4+avx512vbmi+avx512vbmi2". Raises UnknownProcessor."""
    processor, *features = label.split("+")
    is_x86 = host().triple.startswith("x86_64")
    levels = sorted(LEVELS) if is_x86 else ["generic"]
    if processor not in levels:
        example = "x86-64-v4+avx512vbmi+avx512vbmi2" if is_x86 else "generic+lse"
        raise UnknownProcessor(
            f"kernels cannot be made for the processor {label!r}: give one of {', '.join(levels)}, with more features "
            f"if needed, as {example}"
        )
    return Target(host().triple, processor, ",".join(f"+{feature}" for feature in sorted(features)))


def parse_wanted(label: str) -> Target:
    """As `parse`, for a label from the user. Raises UnknownProcessor also for a feature that LLVM does not know.

    LLVM would only print that it ignores the feature, and no machine would ever use the kernels.
    """
    wanted = parse(label)
    known = {each[1:] for each in host().features.split(",")}  # all features of x86, also those that this machine lacks
    unknown = [each[1:] for each in wanted.features.split(",") if each[1:] not in known]
    if unknown and host().features and host().triple.startswith("x86_64") and wanted.features:
        raise UnknownProcessor(
            f"kernels cannot be made for the processor {label!r}: LLVM does not know the feature "
            f"{', '.join(map(repr, unknown))}"
        )
    return wanted


def label_of(target: Target) -> str:
    """The label of a target, as `parse` reads it; empty if it is not a level, as it suits one kind of machine only."""
    if target.processor not in LEVELS or "-" in target.features:
        return ""
    return target.processor + target.features.replace(",", "")


def runs_here(target: Target) -> bool:
    """Whether this machine runs code for a level."""
    own = host()
    needed = LEVELS[target.processor] | {feature[1:] for feature in target.features.split(",") if feature}
    return target.triple == own.triple and all(own.has(feature) for feature in needed)
