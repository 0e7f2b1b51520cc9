"""The recipe of the built-in pair: corpus, tokenizer, target, draft, evaluation."""
