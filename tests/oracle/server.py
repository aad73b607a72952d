"""Runs scripts in copies of a process that has imported what most of them import, which takes longer than most of them.

Each line of stdin is a job in JSON, `{"script": FILE, "arguments": [...], "stdout": FILE, "stderr": FILE}` with
`"code"` in the place of `"script"` for `python -c`; each line of stdout is the exit code of one.
"""

import contextlib
import gc
import json
import os
import runpy
import sys
import traceback

with contextlib.suppress(ImportError):
    import numpy  # noqa: F401
    import pandas  # noqa: F401  (pyarrow imports it when it first makes an array)
    import pyarrow.dataset  # noqa: F401
    import pyarrow.parquet  # noqa: F401


def run(job):
    for number, name in enumerate(["stdout", "stderr"], 1):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdin = open(os.devnull)
    if "code" in job:
        sys.argv, sys.path[0] = ["-c", *job["arguments"]], ""
        exec(job["code"], {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = [job["script"], *job["arguments"]], os.path.dirname(job["script"])
        runpy.run_path(job["script"], run_name="__main__")


def main():
    # (What is here stays as it is in all copies.)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            code = 0
            try:
                run(json.loads(line))
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)
            except BaseException:  # noqa: BLE001
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            # (To take all modules apart takes longer than most scripts.)
            os._exit(code)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
