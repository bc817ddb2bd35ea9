"""``kernelperf calibrate``: identical code against itself, by the guard's own way, again and again."""
