"""Records of the Slurm scheduler: sacct as text and JSON, sacctmgr show event, and the output of jobs."""
