"""Pictures: the port for a model that looks at them. Alt text and title are indexed without one."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from config.errors import ModelUnavailable
from loaders.document import Block, Document, Image


class DescribeImage(Protocol):
    """A vision model. Raises ModelUnavailable when it can't look."""

    def __call__(self, image: Image, *, context: str) -> str:
        """What the picture shows, in words worth searching for; '' when nothing.

        `context`: the heading path and the text around it."""
        ...


def described_images(document: Document, describe: DescribeImage | None) -> Document:
    """The document with picture descriptions as their alt text, where there is none yet."""
    if describe is None:
        return document
    return replace(document, blocks=tuple(_described(block, describe) for block in document.blocks))


def _described(block: Block, describe: DescribeImage) -> Block:
    if block.image is None or block.image.alt:
        return block
    try:
        seen = describe(block.image, context=" › ".join(block.heading_path))
    except ModelUnavailable:
        return block
    return replace(block, image=replace(block.image, alt=seen))
