"""Identifies users and decides what they may ask."""
