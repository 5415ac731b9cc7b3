"""Parity with the oracle: both sides try the same Opts on the same kernels, and every difference is reported.

    subjects    which kernels: the corpus, the made ones, random ones
    product     the product's Kernel behind the same few functions as tests.oracle
    tries       random Opts, legal-looking or wild
    walks       random walks of Opts, both sides in step
    heuristic   the heuristic's Opts of both sides
    report      counts and differences
    known       the kinds of difference that are known, with their reasons

`python -m tests.parity` runs it at full length.
"""
