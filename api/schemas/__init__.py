"""Request and response schemas, with the examples shown in the OpenAPI page."""
