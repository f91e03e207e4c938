"""The cost model: what a save, a failure and a restart cost. Pure numpy; SI units throughout."""
