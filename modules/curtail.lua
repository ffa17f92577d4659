-- SPDX-License-Identifier: Apache-2.0
-- Environment module for Lmod. Copy or link it as <modulepath>/curtail/<version>.lua, and set
-- CURTAIL_ROOT to the checkout or to the prefix of an installation, or edit `root`.
help([[Curtail pre-trains a language model only while renewable power is being curtailed.
Programs: curtail-poll, curtail-train, curtail-data, curtail-model, curtail-status,
curtail-store and curtail-report.]])
whatis("Name: curtail")
whatis("Description: carbon-aware pre-training across Slurm sites")

local root = os.getenv("CURTAIL_ROOT") or ""
if root == "" then root = "/opt/curtail" end
local build = pathJoin(root, "build/release")
if not isDir(build) then build = root end
prepend_path("PATH", pathJoin(build, "bin"))
setenv("CURTAIL_BUILD", build)
