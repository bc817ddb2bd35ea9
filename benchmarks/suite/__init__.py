"""What ``benchmarks/guard.py`` guards: a suite of kernels made in a folder, that counts what is asked of it."""
