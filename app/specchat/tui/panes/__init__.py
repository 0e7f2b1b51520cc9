"""The parts of the model browser: models on this machine, recommended pairs, the hub, downloads."""
