"""How the built-in model pair is made: corpus, tokenizer, target, draft, evaluation."""
