"""Models as files describe them: configurations, and the headers of their tensors."""
