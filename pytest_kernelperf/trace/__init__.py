"""Traces of GPU kernels (rocpd, as rocprofv3 writes them): read, summed up, compared, turned into Perfetto's format."""
