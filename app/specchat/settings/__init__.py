"""Settings: defaults, config.toml, the environment, flags."""
