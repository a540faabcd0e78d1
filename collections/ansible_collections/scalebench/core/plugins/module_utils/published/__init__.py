"""What others published, and how measured cells stand against it."""
