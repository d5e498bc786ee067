"""Runs all programs of a folder in one Python, each as `run_stablehlo.py` would: python run_many.py SCRIPT FOLDER.

Results of name.mlir are in name.out/, as the script writes them; what went wrong is in name.error.
"""

import contextlib
import glob
import importlib.util
import io
import os
import sys

script, folder = sys.argv[1:]
spec = importlib.util.spec_from_file_location("run_stablehlo", script)
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)

for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.mlir"))):
    base = os.path.splitext(path)[0]
    sys.argv = [script, path, "--outputs", base + ".out"]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runner.main()
    except Exception as error:
        with open(base + ".error", "w", encoding="utf-8") as file:
            file.write(f"{type(error).__name__}: {error}")
