"""One case's arms run again from data alone, in a process of their own, under a profiler or with our own recorder."""
