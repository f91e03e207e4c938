"""Records of failures: one file for each format, and what several of them share; failures.py is the door."""
