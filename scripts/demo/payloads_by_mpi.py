#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what `curtail-status --json` prints, and says how many bytes each site read by MPI and from
the store. Exits with 1 if no site read any by MPI."""
import json
import sys

read = {site["site"]: site["payloads_read"] or {"mpi_bytes": 0, "store_bytes": 0}
        for site in json.load(sys.stdin)["sites"]}
for site, ways in read.items():
    print(f"{site:<16} read {ways['mpi_bytes'] / 1e6:.1f} MB by MPI and "
          f"{ways['store_bytes'] / 1e6:.1f} MB from the store")
sys.exit(not any(ways["mpi_bytes"] for ways in read.values()))
