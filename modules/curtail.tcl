#%Module1.0
# SPDX-License-Identifier: Apache-2.0
# Environment module in Tcl. Copy or link it as <modulepath>/curtail/<version>, and set CURTAIL_ROOT
# to the checkout or to the prefix of an installation, or edit `root`.
proc ModulesHelp { } {
    puts stderr "Curtail pre-trains a language model only while renewable power is being curtailed."
    puts stderr "Programs: curtail-poll, curtail-train, curtail-data, curtail-model,"
    puts stderr "curtail-status, curtail-store and curtail-report."
}
module-whatis "Curtail: carbon-aware pre-training across Slurm sites"

if { [info exists ::env(CURTAIL_ROOT)] && $::env(CURTAIL_ROOT) ne "" } {
    set root $::env(CURTAIL_ROOT)
} else {
    set root /opt/curtail
}
set build $root/build/release
if { ![file isdirectory $build] } {
    set build $root
}
prepend-path PATH $build/bin
setenv CURTAIL_BUILD $build
