"""Tables as Slack shows them: with pages and sorting, the asked column first, or as text."""
