"""One reader per format, and how a format is recognised."""
