"""The parts of the model browser: on this machine, recommended, the hub, downloads. They tell what was chosen."""
