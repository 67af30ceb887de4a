"""Runs kept and listed over time, and handed to MLflow."""
