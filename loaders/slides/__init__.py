"""Reads PowerPoint presentations: slides in order, with lists, tables and notes."""
