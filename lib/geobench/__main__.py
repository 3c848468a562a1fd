"""The command line behind run_all.sh: `python -m geobench COMMAND`, each command with its own --help."""

import argparse
import os
import signal
import sys

from geobench.errors import GeoBenchError, NotebooksFailed, of_system, printable


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="geobench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", prog="./run_all.sh", help="execute the notebooks")
    run.add_argument("--profile", default="smoke", help="params/NAME.yaml (default: smoke)")
    only = "these notebooks, for example 05_ranking or 05"
    run.add_argument("--only", nargs="+", action="extend", default=[], metavar="NOTEBOOK", help=only)
    run.add_argument("--from", dest="start", metavar="NOTEBOOK", help="from this notebook on")
    run.add_argument("-p", dest="overrides", action="append", default=[], metavar="NAME=VALUE", help="override a parameter (repeatable)")
    run.add_argument("--run", metavar="NAME", help="results folder (default: the profile's name)")
    run.add_argument("--force", action="store_true", help="make the chosen notebooks' results anew")
    run.add_argument("--dry-run", action="store_true", help="say what would run")
    run.add_argument("--list", action="store_true", help="list the notebooks and profiles")
    _readers(commands)
    commands.add_parser("papers", help="write docs/papers.md: what the papers show, and where it is answered")
    commands.add_parser("doctor", help="check versions, device, weights, data and folders")
    commands.add_parser("weights", help="fetch the embedded models' weights")
    return parser


def _readers(commands) -> None:
    """Commands that read what runs have made."""
    take = commands.add_parser("export", help="take tables and figures out of a run for a paper")
    take.add_argument("--run", default="smoke", metavar="NAME", help="results folder (default: smoke)")
    take.add_argument("--to", required=True, metavar="DIR", help="folder to write to")
    take.add_argument("--figures", nargs="*", metavar="NAME", help="these figures, drawn anew; without names: all")
    take.add_argument("--tables", nargs="*", metavar="NAME", help="these tables; without names: all")
    take.add_argument(
        "--format", dest="kind", choices=["pdf", "svg", "png", "tex", "csv", "md"], help="default: pdf for figures, tex for tables"
    )
    take.add_argument("--width", metavar="LENGTH", help="width of figures, for example 3.3in or 84mm (default: one column)")
    beside = commands.add_parser("compare", help="measured against published figures, side by side")
    beside.add_argument("--run", default="smoke", metavar="NAME", help="results folder (default: smoke)")
    kept = commands.add_parser("replies", help="the store of paid replies: show, export or prune it")
    kept.add_argument("action", choices=["show", "export", "prune"])
    kept.add_argument("--model", metavar="NAME", help="only this model's (prune without it: those that are never served)")
    kept.add_argument("--to", metavar="FILE", help="where export writes JSON lines")
    again = commands.add_parser("reparse", help="read a run's stored replies anew, without a model")
    again.add_argument("--run", default="smoke", metavar="NAME", help="results folder (default: smoke)")
    guard = commands.add_parser("guard", help="scan a text file with a trained C-GEO Guard")
    guard.add_argument("file", metavar="FILE", help="text to scan, - for standard input")
    guard.add_argument("--run", default="smoke", metavar="NAME", help="results folder whose notebook 13 trained it (default: smoke)")
    guard.add_argument("--model", metavar="DIR", help="folder of a trained guard (default: the run's search/guard)")
    guard.add_argument("--tau", type=float, metavar="T", help="another threshold")
    for name, what in (("paper", "write paper/build/ from a run (then `make -C paper`)"), ("report", "build a run's page anew")):
        commands.add_parser(name, help=what).add_argument("--run", default="smoke", metavar="NAME", help="results folder (default: smoke)")
    heads = commands.add_parser("heads", help="choose the attention heads that a model's `attention` read-out reads")
    heads.add_argument("--model", required=True, metavar="NAME", help="a model of params/models.yaml, or path:FOLDER")
    heads.add_argument("--lists", metavar="FOLDER", help="calibration lists (default: data/embedded/calibration)")
    heads.add_argument("--orders", type=int, default=6, metavar="K", help="orders per list (default: 6)")
    heads.add_argument("--count", type=int, default=8, metavar="N", help="so many heads (default: 8)")
    heads.add_argument("--depth", type=int, metavar="LAYERS", help="heads of the first layers only (default: two thirds of them)")
    heads.add_argument("--force", action="store_true", help="replace the heads that the model has")
    board = commands.add_parser("leaderboard", help="rank the variants of several runs, ours and submitted ones")
    board.add_argument("runs", nargs="+", metavar="RUN", help="names under results/, or folders")
    board.add_argument("--to", metavar="DIR", help="folder to write to (default: results/leaderboard)")
    board.add_argument("--ranker", metavar="NAME", help="default: the first run's main_ranker")


def _run(args) -> int:
    from geobench import preflight, runner
    from geobench.params import parse_override, profiles

    if args.list:
        print("notebooks:", *runner.notebooks(), sep="\n  ")
        print("profiles:", *profiles(), sep="\n  ")
        return 0
    made = runner.plan(args.profile, dict(map(parse_override, args.overrides)), args.run, args.only, args.start, args.force)
    preflight.check(made, weights=not args.dry_run)
    if args.dry_run:
        from geobench.dry_run import estimate

        print(estimate(made))
        return 0
    rows = runner.execute(made)
    width = max(len(r["notebook"]) for r in rows)
    print("\n".join(f"  {r['notebook']:<{width}}  {r['state']:<7} {r['seconds']:>7.1f} s" for r in rows))
    if "10_released" in made.chosen:
        print((made.folder / "tables" / "released.md").read_text(encoding="utf-8"), end="")
    print(f"tables, figures and report are in {made.folder} (open report/index.html)")
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit status: 0 good, 1 a notebook failed, 2 what the caller can mend (one line on standard error), 128 and the
    signal's number (130 for Ctrl-C) stopped."""
    args = _parser().parse_args(argv)
    os.environ.setdefault("TQDM_DISABLE", "1")  # no bars of libraries that load weights
    try:
        status = _command(args)
        sys.stdout.flush()
        return status
    except NotebooksFailed as error:
        print(*(printable(f"error: {line}") for line in str(error).splitlines()), sep="\n", file=sys.stderr)
        return 1
    except GeoBenchError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:  # `... | head -1`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(printable(f"error: {of_system(error)}; everything finished is kept, the same command resumes"), file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print("stopped; everything finished is kept, the same command resumes", file=sys.stderr)
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)


def _command(args) -> int:
    if args.command == "run":
        return _run(args)
    if args.command == "export":
        from geobench.export import export

        print(*export(args.run, args.to, args.figures, args.tables, args.kind, args.width), sep="\n")
        return 0
    if args.command == "compare":
        from geobench.compare import compare

        print(compare(args.run))
        return 0
    if args.command == "replies":
        from geobench.replies import command

        print(*command(args.action, args.model, args.to), sep="\n")
        return 0
    if args.command == "reparse":
        from geobench.reparsing import command

        print(*command(args.run), sep="\n")
        return 0
    if args.command == "guard":
        from geobench.reproduce import run_folder
        from geobench.search.defences.scan import scan

        print(scan(args.file, args.model or str(run_folder(args.run) / "search" / "guard"), args.tau))
        return 0
    if args.command in ("heads", "papers", "paper", "report", "leaderboard"):
        print(_written(args))
        return 0
    from geobench import doctor

    return doctor.main() if args.command == "doctor" else doctor.fetch()


def _written(args):
    """What heads, papers, paper, report or leaderboard say of what they wrote: a file or folder."""
    if args.command == "heads":
        from geobench.head_choice import write_heads

        return write_heads(args.model, args.lists, args.orders, args.count, args.depth, args.force)
    if args.command == "papers":
        from geobench.papers_map import write_page

        return write_page()
    from geobench import leaderboard, paper, report

    if args.command == "leaderboard":
        return leaderboard.leaderboard(args.runs, args.to, args.ranker)
    return paper.build_paper(args.run) if args.command == "paper" else report.report_of(args.run)


if __name__ == "__main__":
    sys.exit(main())
