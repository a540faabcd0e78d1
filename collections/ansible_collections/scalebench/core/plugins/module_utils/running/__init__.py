"""The progress of a campaign: records of repeats, what is still to run, when to stop."""
