"""Which bytes each rank of a new layout reads."""
