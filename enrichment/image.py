"""Pictures: the port for a model that looks at them. Alt text and title are indexed without one."""

from __future__ import annotations

from typing import Protocol

from loaders.document import Document, Image


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
    from dataclasses import replace

    blocks = [
        replace(
            block,
            image=replace(
                block.image, alt=describe(block.image, context=" › ".join(block.heading_path))
            ),
        )
        if block.image and not block.image.alt
        else block
        for block in document.blocks
    ]
    return replace(document, blocks=tuple(blocks))
