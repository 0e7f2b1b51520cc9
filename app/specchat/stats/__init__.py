"""Statistics of rounds, predictions, advice, figures and charts. Pure functions, for the app and for `run`."""
