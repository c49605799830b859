# /// script
# requires-python = ">=3.11"
# dependencies = ["blosc2==4.14.1", "numpy==2.4.6"]
# ///
"""Writes `stars.b2nd`, a catalogue of stars for the example `star_catalogue`: `python make.py`."""

from pathlib import Path

import blosc2
import numpy as np

# Right ascension and declination in degrees (J2000), magnitude, and the number of known components of the system.
STARS = [
    ("Sirius", 101.287, -16.716, -1.46, (2, True)),
    ("Canopus", 95.988, -52.696, -0.74, (1, False)),
    ("Arcturus", 213.915, 19.182, -0.05, (1, False)),
    ("Vega", 279.235, 38.784, 0.03, (1, False)),
    ("Rigel", 78.634, -8.202, 0.13, (4, True)),
    ("Betelgeuse", 88.793, 7.407, 0.5, (1, False)),
]
DTYPE = [("name", "<U10"), ("ra", "<f8"), ("dec", "<f8"), ("magnitude", "<f4"), ("system", [("components", "u1"), ("is_multiple", "?")])]

blosc2.set_nthreads(1)
path = Path(__file__).parent / "stars.b2nd"
path.unlink(missing_ok=True)
stars = np.array(STARS, dtype=DTYPE)
blosc2.asarray(stars, chunks=(4,), blocks=(2,), urlpath=str(path), mode="w")
