"""Read the lines of a file of ranks as tiktoken writes them: a token in base64, a space, its rank, a newline."""

import numpy as np

from ..compiler.jit import kernel
from ..compiler.signature import int32, int64, reads, uint8

_SPACE, _NEWLINE, _ZERO, _PAD = (np.uint8(ord(character)) for character in " \n0=")
_NO_DIGIT = 64  # the value of a byte that is not a digit of base64
_MAX_RANK = 2**31 - 2

# The values of the digits of base64.
_VALUES = np.full(256, _NO_DIGIT, dtype=np.uint8)
_VALUES[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = range(64)


@kernel(reads(uint8[:]), uint8[:], int64[:], int32[:])
def read_rank_lines(data, text, starts, ranks):
    """Read tokens and their ranks from lines of "dG9rZW4= 1234".

    data   : uint8[*]                     the whole file; the last line may lack its newline
    text   : uint8[room], filled          the tokens, one after another; room for three bytes from each four of `data`
    starts : int64[n_lines + 1], filled   where each token starts in `text`, and where the last one ends
    ranks  : int32[n_lines], filled

    Returns the number of tokens, or -1 if a line has another form: not base64, base64 in an unusual spelling, another kind
    of newline, or no text. Cost: 2 ns for each byte of `data`.
    """
    n_tokens = n_bytes = at = 0
    size = data.shape[0]
    starts[0] = 0
    while at < size:
        if n_tokens == ranks.shape[0]:
            return -1
        line = at
        n_pads = 0
        while at + 4 <= size and data[at] != _SPACE:
            a, b = np.int64(_VALUES[data[at]]), np.int64(_VALUES[data[at + 1]])
            c, d = np.int64(_VALUES[data[at + 2]]), np.int64(_VALUES[data[at + 3]])
            if n_pads > 0 or a == _NO_DIGIT or b == _NO_DIGIT:
                return -1
            if d == _NO_DIGIT:
                # Padded to four digits; the unused bits must be zeros.
                if data[at + 3] != _PAD:
                    return -1
                n_pads, d = 1, 0
                if c == _NO_DIGIT:
                    if data[at + 2] != _PAD or b & 15 != 0:
                        return -1
                    n_pads, c = 2, 0
                elif c & 3 != 0:
                    return -1
            elif c == _NO_DIGIT:
                return -1
            text[n_bytes] = a << 2 | b >> 4
            if n_pads < 2:
                text[n_bytes + 1] = (b & 15) << 4 | c >> 2
            if n_pads == 0:
                text[n_bytes + 2] = (c & 3) << 6 | d
            n_bytes += 3 - n_pads
            at += 4
        if at == line or at >= size or data[at] != _SPACE:
            return -1
        at += 1
        first_digit = at
        rank = 0
        while at < size and data[at] != _NEWLINE:
            digit = np.int64(data[at]) - _ZERO
            if digit < 0 or digit > 9:
                return -1
            rank = 10 * rank + digit
            if rank > _MAX_RANK:
                return -1
            at += 1
        if at == first_digit:
            return -1
        at += 1
        ranks[n_tokens] = rank
        n_tokens += 1
        starts[n_tokens] = n_bytes
    return n_tokens
