"""Results of storage benchmarks: fio, IOR, elbencho, DLIO and MLPerf Storage."""
