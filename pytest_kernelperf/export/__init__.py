"""``kernelperf plans``: a commit's code of all its cases in one file, and how it differs from other code."""
