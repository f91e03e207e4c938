"""Several classes of failures: their causes and shares, what guards against them, and the same played out."""
