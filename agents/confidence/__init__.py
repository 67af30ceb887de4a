"""How probable it is that an answer is right, what people are told of it, and from where on."""
