"""Families of models: from the numbers of a configuration to every tensor and its shape."""
