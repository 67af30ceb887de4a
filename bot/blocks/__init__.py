"""Pure rendering: values in, Block Kit out."""
