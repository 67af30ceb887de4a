"""Previews of links to documents, for whoever may read them."""
