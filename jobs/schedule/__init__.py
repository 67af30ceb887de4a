"""Documents are fetched anew by the schedule of each domain, and what came of it is kept."""
