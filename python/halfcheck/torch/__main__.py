"""The command line: python -m halfcheck.torch [report] [options], watch, or serve."""

import argparse
import sys

from .. import program


def _arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python -m halfcheck.torch",
        description="Compares what this installation of PyTorch computes with MPFR, or watches a "
                    "training.",
    )
    commands = parser.add_subparsers(dest="command", metavar="report | watch | serve")

    report = commands.add_parser("report", help="run torch's ops and make a report (default)")
    report.add_argument("--out", default="out/torch", metavar="DIR",
                        help="the folder of record, text and page (default: out/torch)")
    report.add_argument("--json", metavar="FILE", help="also write the findings here; - for stdout")
    report.add_argument("--level", default="standard", choices=["quick", "standard", "exhaustive"])
    report.add_argument("--seed", default="0", help="seed of all random inputs (default 0)")
    report.add_argument("--ops", default="", metavar="OP[,OP]",
                        help="check these ops only, without GradScaler and autocast")
    report.add_argument("--threads", type=int, metavar="N", help="torch's threads")

    serve = commands.add_parser("serve", help="answer the calls of the halfcheck that started it")
    serve.add_argument("--optimizer", choices=["loop", "foreach", "fused"],
                       help="run all optimizers in this form (default: as the call asks)")
    serve.add_argument("--threads", type=int, metavar="N", help="torch's threads")

    watch = commands.add_parser("watch", help="run a training script, and judge its operators")
    watch.add_argument("--every", type=int, default=100, metavar="N",
                       help="watch one of N steps, the first one included (default 100)")
    watch.add_argument("--seed", type=int, default=0,
                       help="seed for choosing the elements to judge")
    watch.add_argument("--report", metavar="DIR",
                       help="write a report, a page and a record into this folder")
    watch.add_argument("--budget", action="store_true",
                       help="say how far each operator's rounding moves the loss")
    watch.add_argument("--formats", action="store_true",
                       help="say which numbers are outside of the range of their formats, or near "
                            "its ends")
    watch.add_argument("--through", metavar="BEGIN",
                       help="say how far roundings have added up since the beginning of the step, "
                            "of each layer (layers), or of the layer of this name")
    watch.add_argument("--trace", action="store_true",
                       help="keep hashes of each call, to compare another run with this one")
    watch.add_argument("--compare", metavar="DIR",
                       help="say what differs from the run whose --report is in DIR")
    watch.add_argument("script", metavar="SCRIPT", help="the script, followed by its arguments")
    watch.add_argument("words", nargs=argparse.REMAINDER, metavar="...")

    scaler = commands.add_parser("scaler", help="answer halfcheck gen scaler/torch")
    scaler.add_argument("interval", type=int, nargs="?", default=2000)
    if not argv or argv[0].startswith("--") and argv[0] not in ("--help", "-h"):
        argv = ["report", *argv]
    return parser.parse_args(argv)


def main(argv=None) -> int:
    """Returns the exit status: 0, 1 if anything was found, 2 if something is missing."""
    arguments = _arguments(sys.argv[1:] if argv is None else argv)
    try:
        import torch  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError as error:
        print(f"halfcheck.torch: there is no PyTorch for {sys.executable}: {error}",
              file=sys.stderr)
        return 2
    try:
        if arguments.command == "serve":
            from .serve import serve
            serve(arguments.optimizer, arguments.threads)
            return 0
        if arguments.command == "scaler":
            from .scaler import answer
            answer(arguments.interval)
            return 0
        if arguments.command == "watch":
            from .watching import script
            return script(arguments)
        from .report import report
        return report(arguments)
    except program.Error as error:
        print(f"halfcheck.torch: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
