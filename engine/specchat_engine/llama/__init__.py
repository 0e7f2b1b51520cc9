"""Everything that talks to llama.cpp: models, their vocabulary, their contexts, devices. Nothing else imports it."""
