"""Questions, answers and their posts in the database."""
