"""Who may read a document: rules, groups, live checks."""
