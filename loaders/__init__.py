"""Loads documents from every source into one lossless `Document`."""
