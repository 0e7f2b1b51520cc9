"""From messages to token ids: template, encoding, fitting the context."""
