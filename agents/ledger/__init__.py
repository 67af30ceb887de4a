"""One row for each run of the agents, its limits and its budgets."""
