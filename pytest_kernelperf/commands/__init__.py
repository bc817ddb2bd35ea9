"""The commands of ``kernelperf``, one module each, imported when it is called."""
