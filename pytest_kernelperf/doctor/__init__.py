"""``kernelperf doctor``: can the guard run here, and what would distort what it measures."""
