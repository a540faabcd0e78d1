"""What is slow: rounds of pairs, a model of their rates, suspects."""
