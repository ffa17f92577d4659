#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the sections of report pages as JSON: for each page, a list of [id, places without data].

sections.py PAGE...
Exits with 77 if Chromium, chromedriver or Selenium is not installed.
"""
import json
import os
import sys
import tempfile

try:
    from browser import Browser, missing_programs, shared_address
except ImportError as error:
    print(f"{error} (apt-get install python3-selenium)", file=sys.stderr)
    sys.exit(77)

SECTIONS = "[...document.querySelectorAll('main>section')]" \
           ".map(s => [s.id, [...s.querySelectorAll('.empty')].map(e => e.textContent)])"


def main():
    if missing_programs():
        print("Chromium or chromedriver is missing", file=sys.stderr)
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="curtail-sections-") as profile:
        browser = Browser(profile, shared_address())
        try:
            found = []
            for page in sys.argv[1:]:
                browser.open("file://" + os.path.abspath(page))
                found.append(browser.evaluate(SECTIONS))
        finally:
            browser.close()
    print(json.dumps(found))


main()
