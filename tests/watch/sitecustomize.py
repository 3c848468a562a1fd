"""Notes, in the file GEOBENCH_WATCH, every file of a run's folder that a notebook's kernel opens: notebook's number, r or w, path."""

import os
import sys

if {"GEOBENCH_WATCH", "GEOBENCH_PROGRESS"} <= os.environ.keys():
    NUMBER = os.path.basename(os.path.dirname(os.environ["GEOBENCH_PROGRESS"]))
    NOTES = os.open(os.environ["GEOBENCH_WATCH"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    RESULTS = os.path.realpath(os.environ["GEOBENCH_RESULTS"]) + os.sep

    def note(event, values):
        if event in ("open", "os.rename") and isinstance(values[0], str):
            path = os.path.realpath(values[1] if event == "os.rename" else values[0])
            writes = event == "os.rename" or bool(values[2] & (os.O_WRONLY | os.O_RDWR))
            if path.startswith(RESULTS):
                os.write(NOTES, f"{NUMBER}\t{'w' if writes else 'r'}\t{path}\n".encode())

    sys.addaudithook(note)
