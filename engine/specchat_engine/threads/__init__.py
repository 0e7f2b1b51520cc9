"""How many threads compute, and when fewer are faster."""
