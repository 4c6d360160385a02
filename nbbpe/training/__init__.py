"""Words with counts to merges.

Read merges.py first. first_pairs.py makes what the first merge needs, growing_arrays.py makes room for more, and
parity_queues.py is for sources that are to be compressed equally well. learning_options.py, token_rules.py and
superwords.py are arguments of `nbbpe.train`; start.py is a vocabulary to go on from.
"""
