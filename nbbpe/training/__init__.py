"""Learns merges from words with counts.

Read merges.py first. first_pairs.py builds what the first merge needs, growing_arrays.py makes room for more, and
parity_queues.py is for sources that are to be compressed equally well. learning_options.py, token_rules.py and
superwords.py are arguments of `nbbpe.train`; start.py describes a vocabulary that training continues from.
"""
