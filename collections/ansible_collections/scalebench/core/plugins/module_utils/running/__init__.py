"""How a campaign goes on: records of repeats, what is still to run, when to stop."""
