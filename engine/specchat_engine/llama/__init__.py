"""Talks to llama.cpp: models, vocabularies, contexts and devices. No other package imports llama_cpp."""
