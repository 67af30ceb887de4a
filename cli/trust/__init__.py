"""Commands of those who answer for it: who may use the API."""
