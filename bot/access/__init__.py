"""Who somebody is, and what they may ask."""
