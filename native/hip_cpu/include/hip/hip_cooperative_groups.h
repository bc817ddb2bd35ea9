// Not there yet, and said so.
#error "hip/hip_cooperative_groups.h (cooperative group types) is not supported by the cpu runtime yet"
