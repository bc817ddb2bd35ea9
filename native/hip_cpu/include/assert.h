#include "kernelperf_cpu/assert.h"
