"""``kernelperf drill``: sets each alarm off on purpose, and fails where one stays silent."""
