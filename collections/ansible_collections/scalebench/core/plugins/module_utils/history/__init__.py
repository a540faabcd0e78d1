"""How the speed of cells developed over campaigns."""
