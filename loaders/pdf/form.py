"""The values of form fields in a PDF, each with its place on the page."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from loaders.text.markdown import clean

_MAX_ANNOTATIONS = 5_000
"""Annotations of a page that are looked at."""
_HIDDEN, _NO_VIEW = 1 << 1, 1 << 5
_PASSWORD = 1 << 13
"""A flag of text fields whose value is not for reading."""


@dataclass(frozen=True, slots=True)
class Widget:
    """A filled field, or text that somebody typed onto the page. PDF points, from the bottom."""

    text: str
    x0: float
    bottom: float
    x1: float
    top: float


class Form:
    """The form of an open document. Close it before the document."""

    def __init__(self, document: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._config = pdfium.FPDF_FORMFILLINFO(version=2)  # PDFium keeps a pointer to it
        self._handle = pdfium.FPDFDOC_InitFormFillEnvironment(document, self._config)
        kind = pdfium.FPDF_GetFormType(document)
        self.is_xfa = kind in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND)

    def close(self) -> None:
        self._pdfium.FPDFDOC_ExitFormFillEnvironment(self._handle)

    def widgets(self, page: Any) -> tuple[list[Widget], bool]:
        """Filled fields of an open page, and whether it has more annotations than are looked at."""
        pdfium = self._pdfium
        count = pdfium.FPDFPage_GetAnnotCount(page)
        widgets = []
        for i in range(min(count, _MAX_ANNOTATIONS)):
            annotation = pdfium.FPDFPage_GetAnnot(page, i)
            if not annotation:
                continue
            try:
                text = self._text(annotation)
                box = pdfium.FS_RECTF()
                if text and pdfium.FPDFAnnot_GetRect(annotation, box):
                    widgets += _lines(text, box)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)
        return widgets, count > _MAX_ANNOTATIONS

    def _text(self, annotation: Any) -> str:
        pdfium = self._pdfium
        if pdfium.FPDFAnnot_GetFlags(annotation) & (_HIDDEN | _NO_VIEW):
            return ""
        subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
        if subtype == pdfium.FPDF_ANNOT_FREETEXT:
            return _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
        if subtype != pdfium.FPDF_ANNOT_WIDGET or not self._handle:
            return ""
        kind = pdfium.FPDFAnnot_GetFormFieldType(self._handle, annotation)
        if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
            state = _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
            return "[ ]" if state in ("", "Off") else "[x]"
        if kind in (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX):
            flags = pdfium.FPDFAnnot_GetFormFieldFlags(self._handle, annotation)
            if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD and flags & _PASSWORD:
                return ""
            return _string(pdfium.FPDFAnnot_GetFormFieldValue, self._handle, annotation)
        if kind == pdfium.FPDF_FORMFIELD_LISTBOX:
            return ", ".join(self._chosen(annotation))
        return ""

    def _chosen(self, annotation: Any) -> list[str]:
        pdfium = self._pdfium
        count = pdfium.FPDFAnnot_GetOptionCount(self._handle, annotation)
        return [
            _string(pdfium.FPDFAnnot_GetOptionLabel, self._handle, annotation, i)
            for i in range(min(count, 1_000))
            if pdfium.FPDFAnnot_IsOptionSelected(self._handle, annotation, i)
        ]


def _string(read: Callable[..., int], *arguments: Any) -> str:
    """A UTF-16 string that PDFium writes into a buffer."""
    size = read(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    return clean(buffer.raw[: size - 2].decode("utf-16-le", "replace")).strip()


def _lines(text: str, box: Any) -> list[Widget]:
    lines = [line for line in text.split("\n") if line.strip()]
    height = (box.top - box.bottom) / max(len(lines), 1)
    return [
        Widget(
            text=" ".join(line.split()),
            x0=box.left,
            bottom=box.top - (i + 1) * height,
            x1=box.right,
            top=box.top - i * height,
        )
        for i, line in enumerate(lines)
    ]
