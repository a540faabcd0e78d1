"""What campaigns are recorded in: factors, cells, repeats, run records and endings."""
