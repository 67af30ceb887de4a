"""All that answers without a language model: words, scores, choice, refusal."""
