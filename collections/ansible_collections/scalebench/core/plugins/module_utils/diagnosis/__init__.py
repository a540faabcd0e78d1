"""What is slow: causes, a model of the rates of nodes and pairs, suspects, and words for them."""
