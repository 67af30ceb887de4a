"""A question on its way: taken in, decided, limited, attempted."""
