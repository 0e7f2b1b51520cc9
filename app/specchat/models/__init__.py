"""Finding models on the hub, downloading them into the Hugging Face cache, and listing those on this machine."""
