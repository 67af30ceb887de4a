"""Documents cut along their structure, tables into groups of rows."""
