"""Builds the wheel that the extension installs for people who have no Interlock: ``wheel.py FOLDER``.

The wheel is written without compression: a .vsix compresses it as one file, which makes it a quarter smaller
than many small compressed ones.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def main(target: Path) -> None:
    project = Path(__file__).resolve().parents[2]
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--wheel-dir", folder, str(project)], check=True)
        (built,) = Path(folder).glob("interlock-*.whl")
        with zipfile.ZipFile(built) as old, zipfile.ZipFile(target / built.name, "w", zipfile.ZIP_STORED) as new:
            for entry in old.infolist():
                new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
