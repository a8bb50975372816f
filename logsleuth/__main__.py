"""``python -m logsleuth``."""

from logsleuth.cli.app import main

main()
