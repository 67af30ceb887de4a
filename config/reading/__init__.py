"""What people and programs wrote, read strictly: YAML, JSON, and mistakes in plain words."""
