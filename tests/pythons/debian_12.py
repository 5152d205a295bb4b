#!/usr/bin/env python3
"""Key programs under the Python of Debian 12."""
import sys

from _root import main

sys.exit(main("12"))
