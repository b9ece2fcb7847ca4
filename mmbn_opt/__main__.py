"""``python -m mmbn_opt`` is the command line."""

from mmbn_opt.cli import main

if __name__ == "__main__":
    main()
