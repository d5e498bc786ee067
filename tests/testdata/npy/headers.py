"""headers.csv: which headers of .npy files NumPy reads, for tests/testthat/test-npy.R. Versions are in its first line.

    python headers.py
"""

import csv
import io
import pathlib
import struct
import sys

import numpy as np

here = pathlib.Path(__file__).parent
good = "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }\n"


def shape(text):
    return good.replace("(6,)", text)


def descr(text):
    return good.replace("'<f4'", text)


# Header, version, and why nv_read_npy() refuses it where NumPy does not.
cases = [
    (good, 1, ""), (good, 2, ""), (good, 3, ""), (good.rstrip("\n"), 1, ""), (" \t" + good, 1, ""),
    (good + "   \n", 1, ""), ("\n" + good, 1, ""), (good.replace(", }", "}"), 1, ""), (good.replace(" ", ""), 1, ""),
    (good.replace("'", '"'), 1, ""), (good.replace(", ", ",\n"), 1, ""),
    ("{'shape': (6,), 'fortran_order': True, 'descr': '<f4'}", 1, ""),
    # Not a dict, or more than one thing.
    ("", 1, ""), ("{}", 1, ""), ("[]", 1, ""), ("None", 1, ""), (good[:-2], 1, ""), (good[1:], 1, ""),
    (good + "x", 1, ""), (good + "{}", 1, ""), (good + "#", 1, "comments"), (good.replace("}", "}}"), 1, ""),
    (good.replace("{", "{{"), 1, ""), ("(" + good.strip() + ")", 1, "parentheses"), ("dict(descr='<f4')", 1, ""),
    ("__import__('os').system('true')", 1, ""), (good.replace(", }", ",, }"), 1, ""), (good.replace("{", "{,"), 1, ""),
    (good.replace("'<f4',", "'<f4'"), 1, ""), (good.replace("False,", "False;"), 1, ""), (good.replace(":", "="), 1, ""),
    # Keys.
    (good.replace("'shape': (6,), ", ""), 1, ""), (good.replace("'descr': '<f4', ", ""), 1, ""),
    (good.replace("'fortran_order': False, ", ""), 1, ""), (good.replace(", }", ", 'x': 1}"), 1, ""),
    (good.replace(", }", ", 'shape': (6,)}"), 1, "a key twice"), (good.replace("'shape'", "'shapes'"), 1, ""),
    (good.replace("'shape'", "shape"), 1, ""), (good.replace("'shape'", "'shape\""), 1, ""),
    (good.replace("'shape'", "b'shape'"), 1, ""), (good.replace("'shape'", "' shape'"), 1, ""),
    # The order.
    (good.replace("False", "True"), 1, ""), (good.replace("False", "0"), 1, ""), (good.replace("False", "1"), 1, ""),
    (good.replace("False", "None"), 1, ""), (good.replace("False", "'False'"), 1, ""), (good.replace("False", "false"), 1, ""),
    # The shape.
    (shape("()"), 1, ""), (shape("( )"), 1, ""), (shape("(2, 3)"), 1, ""), (shape("(2, 3,)"), 1, ""), (shape("(2,3)"), 1, ""),
    (shape("( 2 , 3 )"), 1, ""), (shape("(0, 3)"), 1, ""), (shape("(0,)"), 1, ""), (shape("(6)"), 1, ""), (shape("6"), 1, ""),
    (shape("[6]"), 1, ""), (shape("(2 3)"), 1, ""), (shape("(2,,3)"), 1, ""), (shape("(,)"), 1, ""), (shape("(,6)"), 1, ""),
    (shape("(-6,)"), 1, ""), (shape("(-2, -3)"), 1, ""), (shape("(6.0,)"), 1, ""), (shape("(06,)"), 1, ""),
    (shape("(0x6,)"), 1, "other spellings of a number"), (shape("('6',)"), 1, ""), (shape("(True, 6)"), 1, "other spellings of a number"),
    (shape("(6L,)"), 1, ""), (shape("(None,)"), 1, ""), (shape("(6,"), 1, ""), (shape("6,)"), 1, ""), (shape("((6,),)"), 1, ""),
    (shape("(" + "9" * 400 + ",)"), 1, ""), (shape("(99999999999999999999,)"), 1, ""), (shape("(1e3,)"), 1, ""),
    (shape("(" + "1, " * 32 + ")"), 1, ""), (shape("(6,1)"), 1, ""),
    # The type.
    (descr("'|f4'"), 1, ""), (descr("'=f4'"), 1, ""), (descr("'>f4'"), 1, ""), (descr("'f4'"), 1, "a type without its order"),
    (descr("'<f5'"), 1, ""), (descr("'<q9'"), 1, ""), (descr("''"), 1, ""), (descr("'<'"), 1, ""), (descr("4"), 1, ""),
    (descr("None"), 1, "no type at all"), (descr("'<f4\\n'"), 1, ""), (descr("'f4,f4'"), 1, "a record"), (descr("'?'"), 1, "a type without its order"),
    (descr("[('x', '<f4')]"), 1, "a record"), (descr("[('\xe9', '<f4')]"), 1, "a record"), (descr("'<m8[s]'"), 1, "times"),
    (descr("'|S4'"), 1, "strings"), (descr("'|O'"), 1, ""), (descr("'<f4\xe9'"), 1, ""), (descr("('<f4', (2,))"), 1, "a record"),
    (descr("b'<f4'"), 1, ""), (descr("'<f4' "), 1, ""), (descr("'float32'"), 1, "a type without its order"),
    # Longer than NumPy reads.
    (good + " " * 10000, 1, ""), (good + " " * 9000, 1, ""),
]
# In version 3 the text is UTF-8.
cases += [("bytes", b"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), '\xff': 1}", 3), ("bytes", good.encode() + b"\xff", 3),
          ("bytes", descr("[('\xe9', '<f4')]").encode("latin1"), 3)]


def read(header, version):
    """Whether NumPy reads an array with this header, and how many bytes of elements it takes."""
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    start = b"\x93NUMPY" + bytes([version, 0]) + size + header
    file = io.BytesIO(start + bytes(256))
    try:
        np.lib.format.read_array(file, allow_pickle=False)
    except Exception:
        return "refuses", 24
    return "reads", file.tell() - len(start)


with open(here / "headers.csv", "w", newline="") as file:
    file.write(f"# python headers.py, with Python {sys.version.split()[0]}, numpy {np.__version__}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["version", "numpy", "bytes", "ours", "header"])
    for case in cases:
        if case[0] == "bytes":
            _, header, version, ours = (*case, "")
        else:
            text, version, ours = case
            header = text.encode("latin1" if version < 3 else "utf8")
        verdict, count = read(header, version)
        writer.writerow([version, verdict, count, ours if verdict == "reads" else "", header.hex(" ")])
