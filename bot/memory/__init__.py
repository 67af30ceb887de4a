"""What the bot remembers in the database: questions, answers, posts."""
