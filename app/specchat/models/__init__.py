"""Models: found on the hub, fetched into the Hugging Face cache, and known by name on this machine."""
