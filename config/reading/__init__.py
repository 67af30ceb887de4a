"""A domain file as text: strict YAML, and mistakes in plain words."""
