"""What ``benchmarks/fidelity.py`` is made of: the lesson's cases, the two sides, their peers, the comparison."""
