"""`oncall evaluate`, `golden`, `canary` and `config diff-eval`."""
