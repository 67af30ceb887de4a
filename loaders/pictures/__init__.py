"""Pictures of documents and questions: fetched, told by their bytes, made fit to be shown."""
