"""The run at other numbers of GPUs: where more of them stop helping, and stop paying."""
