"""The properties of characters that rules for tokens use: script, and whether it is a letter, number or whitespace."""

from __future__ import annotations

import numpy as np
import regex
from numpy.typing import NDArray

from ..kernels.training.token_limits import LETTER, NUMBER, SCRIPT, WHITESPACE
from ..patterns.code_points import N_CODE_POINTS, Edges, ranges_of, read_off

# In an entry of the table, the bits of SCRIPT are a number that all characters of a script share, 0 for characters of all
# scripts (digits, punctuation, marks); those of SYSTEMS are a bit for each writing system that has the character.

# Scripts that are written together have one number, and one bit for each system in which they are. (UTS #39, section 5.1:
# Japanese is written in Han, Hiragana and Katakana, Korean in Han and Hangul, and Bopomofo goes with Han.)
_TOGETHER = 1
_JAPANESE, _KOREAN, _BOPOMOFO, _CHINESE = 0x100, 0x200, 0x400, 0x800
_SYSTEMS_OF = {
    "Hani": _JAPANESE | _KOREAN | _BOPOMOFO | _CHINESE,
    "Hira": _JAPANESE,
    "Kana": _JAPANESE,
    "Hang": _KOREAN,
    "Bopo": _BOPOMOFO,
}
# All others, by their codes in ISO 15924. One that the installed `regex` does not know yet has no characters here.
_APART = """
    Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Berf Bhks Brah Brai Bugi Buhd Cakm Cans Cari Cham Cher
    Chrs Copt Cpmn Cprt Cyrl Deva Diak Dogr Dsrt Dupl Egyp Elba Elym Ethi Gara Geor Glag Gong Gonm Goth Gran Grek Gujr
    Gukh Guru Hano Hatr Hebr Hluw Hmng Hmnp Hung Ital Java Jurc Kali Kawi Khar Khmr Khoj Kits Knda Krai Kthi Lana Laoo
    Latn Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Maka Mand Mani Marc Medf Mend Merc Mero Mlym Modi Mong Mroo Mtei Mult
    Mymr Nagm Nand Narb Nbat Newa Nkoo Nshu Ogam Olck Onao Orkh Orya Osge Osma Ougr Palm Pauc Pcun Perm Phag Phli Phlp
    Phnx Plrd Prti Rjng Rohg Runr Samr Sarb Saur Seal Sgnw Shaw Shrd Sidd Sidt Sind Sinh Sogd Sogo Sora Soyo Sund Sunu
    Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Tayo Telu Tfng Tglg Thaa Thai Tibt Tirh Tnsa Todr Tols Toto Tutg Ugar
    Vaii Vith Wara Wcho Xpeo Xsux Yezi Yiii Zanb
""".split()  # noqa: SIM905  (a literal list takes a line for each)
_UNLISTED = 0xFF  # the number of all scripts that are newer than this list


def character_table(scripts: bool) -> NDArray[np.uint16]:
    """The properties of each code point, uint16[N_CODE_POINTS]. Reading scripts off `regex` takes about 0.6 s, once.

    >>> table = character_table(scripts=False)
    >>> bool(table[ord("a")] & LETTER), bool(table[ord("7")] & NUMBER), bool(table[ord(" ")] & LETTER)
    (True, True, False)
    """
    table = np.zeros(N_CODE_POINTS, dtype=np.uint16)
    for item, entry in (r"\p{L}", LETTER), (r"\p{N}", NUMBER), (r"\s", WHITESPACE):
        _enter(table, read_off(item), entry)
    if scripts:
        entries = {code: _TOGETHER | systems for code, systems in _SYSTEMS_OF.items()}
        entries |= {code: number for number, code in enumerate(_APART, _TOGETHER + 1)}
        for code, entry in entries.items():
            _enter(table, _members(code), entry)
        of_a_script = np.zeros_like(table)
        _enter(of_a_script, read_off(r"[^\p{Script=Zyyy}\p{Script=Zinh}\p{Script=Zzzz}]"), _UNLISTED)
        table |= np.where(table & SCRIPT, 0, of_a_script)
    return table


def _members(code: str) -> Edges:
    """The code points of a script; none where `regex` does not know it."""
    try:
        return read_off(rf"\p{{Script={code}}}")
    except regex.error:
        return ()


def _enter(table: NDArray[np.uint16], members: Edges, entry: int) -> None:
    """Set the bits of an entry for some code points."""
    for first, end in ranges_of(members):
        table[first:end] |= np.uint16(entry)
