"""Textbook byte-pair encoding in plain Python: the slow, obvious twins of nbbpe's kernels. Imports nothing of nbbpe."""

from collections import Counter

HF_VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
HF_BYTES = HF_VISIBLE + [b for b in range(256) if b not in HF_VISIBLE]  # Hugging Face's alphabet, in its order


def merge_word(symbols, left, right, result):
    """Replace each (left, right) by result, left to right."""
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == left and symbols[i + 1] == right:
            out.append(result)
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def train(word_counts, n_tokens, tie_break="bytes", min_frequency=1):
    """Merges as [(left bytes, right bytes)] and tokens as [bytes], by counting all pairs anew for every merge.

    With "bytes" a symbol is its byte string. With "huggingface" too, and a merge that spells a known token adds none.
    With "ids" each merge makes a symbol of its own.
    """
    tokens = [bytes([b]) for b in range(256)]
    words = [([bytes([b]) if tie_break != "ids" else b for b in word], count) for word, count in word_counts.items()]
    merges = []
    while len(tokens) < n_tokens:
        pairs = Counter()
        for symbols, count in words:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += count
        pairs = {pair: count for pair, count in pairs.items() if count >= min_frequency}
        if not pairs:
            break
        top = max(pairs.values())
        best = [pair for pair, count in pairs.items() if count == top]
        if tie_break == "bytes":
            left, right = max(best)
            result = left + right
        elif tie_break == "ids":
            left, right = min(best)
            result = len(tokens)
        else:
            order = {bytes([b]): i for i, b in enumerate(HF_BYTES)} | {
                token: i for i, token in reversed(list(enumerate(tokens))) if i >= 256
            }
            left, right = min(best, key=lambda pair: (order[pair[0]], order[pair[1]]))
            result = left + right
        spelled = (tokens[left], tokens[right]) if tie_break == "ids" else (left, right)
        merges.append(spelled)
        if tie_break != "huggingface" or result not in tokens:
            tokens.append(b"".join(spelled))
        words = [(merge_word(symbols, left, right, result), count) for symbols, count in words]
    return merges, tokens
