"""Signed tokens (JOSE) and the keys that verify them, for the adapters that tell who asks."""
