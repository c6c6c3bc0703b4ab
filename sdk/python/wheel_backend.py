"""Builds the package as PEP 517 says, with the standard library alone: no build tool has to be downloaded."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: The earliest time that a zip file knows: the same sources make the same file.
TIME = (1980, 1, 1, 0, 0, 0)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    name, version = _read_identity()
    info = f"{name}-{version}.dist-info"
    files = {str(path.relative_to(HERE)): path.read_bytes() for path in _list_sources()}
    files[f"{info}/METADATA"] = _format_metadata(version).encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: wheel_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [f"{path},sha256={_hash(content)},{len(content)}\n" for path, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    file = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, file), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, TIME)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return file


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name, version = _read_identity()
    root = f"{name}-{version}"
    with tarfile.open(Path(sdist_directory, f"{root}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in [HERE / "pyproject.toml", HERE / "README.md", Path(__file__), *_list_sources()]:
            archive.add(path, f"{root}/{path.relative_to(HERE)}")
        metadata = _format_metadata(version).encode()
        entry = tarfile.TarInfo(f"{root}/PKG-INFO")
        entry.size = len(metadata)
        archive.addfile(entry, io.BytesIO(metadata))
    return f"{root}.tar.gz"


def _list_sources() -> list[Path]:
    return sorted(path for path in (HERE / "parley_sdk").rglob("*") if path.suffix in (".py", ".typed"))


def _read_identity() -> tuple[str, str]:
    return _read("name").replace("-", "_"), _read("version")


def _read(field: str) -> str:
    """Python 3.10 cannot read TOML; the fields of our own file are plain."""
    found = re.search(rf'^{field} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml has no {field}.")
    return found[1]


def _format_metadata(version: str) -> str:
    return f"""Metadata-Version: 2.4
Name: {_read("name")}
Version: {version}
Summary: {_read("description")}
License-Expression: {_read("license")}
Requires-Python: {_read("requires-python")}
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
