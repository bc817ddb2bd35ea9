"""``python3 -I -B <this folder> COMMAND``: the runner's programs, with nothing but Python's standard library.

Started as a folder, so that isolated mode (``-I``: no environment, no user's packages) still finds what lies beside.
"""

import sys

from kernelperf_runner.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
