"""What Slurm is asked for, and what its programs answer."""
