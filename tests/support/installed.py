"""A package that installs a drafter, in a folder to be put on the module path."""

from __future__ import annotations

from pathlib import Path


def install_drafter(folder: Path, name: str, source: str, attribute: str = "Drafter") -> Path:
    """Writes a package whose module has this source and declares its `attribute` as the drafter `name`."""
    (folder / f"drafter_{name}.py").write_text(source)
    about = folder / f"drafter_{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: drafter_{name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[specchat.drafters]\n{name} = drafter_{name}:{attribute}\n")
    return folder
