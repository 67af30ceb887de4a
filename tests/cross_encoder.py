"""A cross-encoder of a few kilobytes, saved as its publishers save theirs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest


def tiny_cross_encoder(folder: Path, labels: Sequence[str] = ()) -> Path:
    """`labels`: of a model that tells what a passage is to a claim; none: one score."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "apples", "keys", "rotated", "monthly"]
    (folder / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=max(1, len(labels)),
        **({"id2label": dict(enumerate(labels))} if labels else {}),
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
