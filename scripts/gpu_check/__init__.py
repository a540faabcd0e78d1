"""What needs a GPU to be shown, tried on this machine; the way of the review of the GPU path."""
