"""Levers: bounded, realistic changes of a run, and what each of them would gain."""
