"""Check what a wheel installed: run it with the environment's own `python -I`, in no checkout."""

import zipfile
from importlib.metadata import files

from tokenref.catalogue import open_catalogue
from tokenref.packaged import fixtures_folder

installed = [path for path in files("tokenref") or () if path.suffix == ".py"]
lines = sum(path.read_binary().count(b"\n") for path in installed)
packages = {path.parts[0] for path in installed}
print(f"{len(installed)} Python files, {lines:,} lines, in {', '.join(sorted(packages))}")
assert packages == {"bpe_ref", "sampling_ref", "tokenref"}
assert isinstance(fixtures_folder(), zipfile.Path), fixtures_folder()
assert not any(path.name == "MANIFEST.json" for path in files("tokenref") or ())
catalogue = open_catalogue()
for entry in catalogue.manifest.subjects:
    subject = catalogue.subject(entry.digest)
    assert entry.path is None or not isinstance(subject, str), subject
print(f"{len(catalogue.cases):,} records are read from {fixtures_folder()}")
