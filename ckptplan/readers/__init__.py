"""Records of failures, read from files: every fault is reported with its line."""
