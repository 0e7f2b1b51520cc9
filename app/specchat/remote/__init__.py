"""Engines that are reached over HTTP: vLLM, SGLang, llama-server, and whatever speaks OpenAI's API."""
