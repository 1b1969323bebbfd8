"""Prepares model folders, once per model and before anything runs; no function imports this package."""

from common.prepare.folder import prepare

__all__ = ["prepare"]
