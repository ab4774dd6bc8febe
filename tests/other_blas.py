"""Run tests with another BLAS and LAPACK under numpy and scipy.

    python -m tests.other_blas --lp64 libblas.so.3 liblapack.so.3 \
        --ilp64 libblas64.so.3 liblapack64.so.3 -- -q tests/top
    python -m tests.other_blas --lp64 libmkl_rt.so.3 --ilp64 libmkl_rt.so.3 --suffix _64 -- -q tests

Wheels of numpy and scipy bring an OpenBLAS of their own. Copies of both go to a scratch folder,
and in the place of that library one that hands every call on to the libraries named: the
reference implementation (Debian: libblas3, liblapack3, libblas64-3, liblapack64-3), Intel's (the
wheel mkl), or any other. scipy asks with integers of 32 bits, numpy of 64: `--suffix` is what the
latter's names end in, where one library has both. Linux on x86-64, with GCC.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static const char *names[] = {%(names)s};
static const char *libraries[] = {%(libraries)s};
enum { COUNT = %(count)d, LIBRARIES = sizeof(libraries) / sizeof(*libraries) };
__attribute__((visibility("hidden"))) void *forwarded[COUNT];
static void missing(void) { fputs("a routine is missing\\n", stderr); abort(); }
// threadpoolctl knows the library by its name and asks it these.
#define OPENBLAS(suffix) \\
  int scipy_openblas_get_num_threads##suffix(void) { return 1; } \\
  void scipy_openblas_set_num_threads##suffix(int n) { (void)n; } \\
  int scipy_openblas_get_parallel##suffix(void) { return 0; } \\
  const char *scipy_openblas_get_config##suffix(void) { return "OpenBLAS 0.0.0 forwarded"; } \\
  const char *scipy_openblas_get_corename##suffix(void) { return "forwarded"; }
OPENBLAS()
OPENBLAS(64_)
__attribute__((constructor)) static void look_up(void) {
  for (int l = 0; l < LIBRARIES; ++l) {
    void *handle = dlopen(libraries[l], RTLD_NOW | RTLD_LOCAL);
    if (!handle) { fprintf(stderr, "%%s\\n", dlerror()); abort(); }
    for (int i = 0; i < COUNT; ++i)
      if (!forwarded[i]) forwarded[i] = dlsym(handle, names[i]);
  }
  for (int i = 0; i < COUNT; ++i)
    if (!forwarded[i]) forwarded[i] = (void *)missing;
}
"""


def asked(folder: Path) -> list[str]:
    """Return the routines that the modules of a package ask of its OpenBLAS."""
    found: set[str] = set()
    for module in folder.rglob("*.so"):
        listed = subprocess.run(
            ["nm", "-D", "--undefined-only", module], capture_output=True, text=True, check=True
        ).stdout
        found |= set(re.findall(r"\bU (scipy_(?!openblas)\w+)", listed))
    return sorted(found)


def plain(name: str, suffix: str) -> str:
    """Return what others call a routine: scipy_dgesv_64_ is dgesv_ or dgesv_64_."""
    name = name.removeprefix("scipy_")
    if name.startswith("cblas_"):
        return name[:-3] + suffix if name.endswith("64_") else name
    return name[:-4] + (suffix + "_" if suffix else "_") if name.endswith("_64_") else name


def forward(package: str, libraries: list[str], suffix: str, scratch: Path) -> None:
    """Copy a package and put a library that forwards in the place of its OpenBLAS."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).parent
    for folder in (source, source.with_name(f"{package}.libs")):
        shutil.copytree(folder, scratch / folder.name)
    routines = asked(source)
    code = SOURCE % {
        "names": ", ".join(f'"{plain(name, suffix)}"' for name in routines),
        "libraries": ", ".join(f'"{library}"' for library in libraries),
        "count": len(routines),
    }
    jumps = "".join(
        f".globl {name}\n.type {name}, @function\n{name}: jmp *forwarded+{8 * i}(%rip)\n"
        for i, name in enumerate(routines)
    )
    (bundled,) = (scratch / f"{package}.libs").glob("libscipy_openblas*")
    (scratch / "forward.c").write_text(code)
    (scratch / "jumps.s").write_text(f".text\n{jumps}.section .note.GNU-stack\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{bundled.name}", "-o", bundled,
         scratch / "forward.c", scratch / "jumps.s", "-ldl"],
        check=True,
    )  # fmt: skip


def main() -> int:
    """Run pytest with the rest of the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lp64", nargs="+", required=True)
    parser.add_argument("--ilp64", nargs="+", required=True)
    parser.add_argument("--suffix", default="")
    own, _, rest = " ".join(sys.argv[1:]).partition(" -- ")
    options = parser.parse_args(own.split())
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        forward("scipy", options.lp64, "", scratch)
        forward("numpy", options.ilp64, options.suffix, scratch)
        paths = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        return subprocess.run(
            [sys.executable, "-m", "pytest", *rest.split()], env={**os.environ, "PYTHONPATH": paths}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
