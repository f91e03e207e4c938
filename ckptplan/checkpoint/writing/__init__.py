"""Safetensors written tensor by tensor: what appears is whole, or does not appear."""
