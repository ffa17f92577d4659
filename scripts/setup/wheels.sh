# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Unpacks the pinned wheels into .deps/site, and those for GPUs into .deps/gpu. They are for
# Debian 12's Python whichever Python runs pip. Only `make metrics` imports one, which fits any.

wanted_wheels() {
    if [ -n "${CURTAIL_TORCH_ROOT:-}" ]; then
        grep -E '^(plotly|lizard)==' scripts/wheels.txt
    else
        cat scripts/wheels.txt
    fi
}

# Without the compiler or the disassembler that the machine has.
wanted_gpu_wheels() {
    local without='^$'
    ! scripts/setup/find_cuda_tool.sh nvcc --toolkit > /dev/null ||
        without+='|^nvidia-(cuda-(nvcc|crt|runtime|cccl)|nvvm)=='
    ! scripts/setup/find_cuda_tool.sh cuobjdump --toolkit > /dev/null ||
        without+='|^nvidia-cuda-(cuobjdump|nvdisasm)=='
    grep -Ev "$without" scripts/wheels-gpu.txt
}

check_machine() { # NEEDED_MB: free space needed while wheels are fetched and unpacked; 0: any
    [ "$1" -gt 0 ] || return 0
    [ "$(uname -m)" = x86_64 ] || fail 69 "the pinned wheels are for x86-64 and this machine is" \
        "$(uname -m); build LibTorch 2.11.0 and set CURTAIL_TORCH_ROOT to it"
    local free
    free=$(df -Pm .deps | awk 'NR == 2 {print $4}')
    [ "$free" -ge "$1" ] || fail 73 "$here/.deps has $free MB of free space and the wheels" \
        "need $1; free some, or make .deps a link to a folder on another disk"
}

find_pip() { # prints a Python that has pip
    local python
    for python in python3 /usr/bin/python3; do
        if $python -m pip --version > /dev/null 2>&1; then echo $python; return; fi
    done
    return 1
}

fetch_wheels() { # FOLDER LIST
    local python
    python=$(find_pip) || fail 69 "python3 has no pip; apt-get install python3-pip"
    rm -rf "$1"
    $python -m pip install --quiet --disable-pip-version-check --no-warn-script-location \
        --root-user-action ignore --no-deps --no-compile --require-hashes --only-binary :all: \
        --implementation cp --python-version 3.11 --abi cp311 --abi none \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
        --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 \
        --platform manylinux2014_x86_64 \
        --target "$1" -r <(echo "$2") ||
        fail 69 "pip could not install the wheels, see above:" \
            "no network, no space in ${TMPDIR:-/tmp}, or a file that differs from the pinned one"
}

# Unpacks the wheels of LIST into .deps/NAME, unless it already holds them or all those of FILE.
install_list() { # NAME LIST FILE MB_TO_FETCH MB_NEEDED
    local folder=$here/.deps/$1 wanted installed
    local stamp=$folder/.wheels.sha256
    wanted=$(echo "$2" | sha256sum)
    installed=$(cat "$stamp" 2> /dev/null || true)
    if [ "$installed" = "$wanted" ] || [ "$installed" = "$(sha256sum < "$3")" ]; then
        say "the wheels are in .deps/$1"
        return
    fi
    say "unpacking into .deps/$1, about $4 MB to fetch:" \
        "$(echo "$2" | sed -n 's/ --hash.*//p' | tr '\n' ' ')"
    [ $dry_run = no ] || return 0
    check_machine "$5"
    fetch_wheels "$folder.new" "$2"
    rm -rf "$folder"
    mv "$folder.new" "$folder"
    echo "$wanted" > "$stamp"
}

install_wheels() {
    local fetch=560 needed=2000
    [ -z "${CURTAIL_TORCH_ROOT:-}" ] || { fetch=10; needed=0; }
    install_list site "$(wanted_wheels)" scripts/wheels.txt $fetch $needed
}

install_gpu_wheels() {
    local list fetch=305
    list=$(wanted_gpu_wheels)
    grep -q '^nvidia-cuda-nvcc==' <<< "$list" || fetch=205
    install_list gpu "$list" scripts/wheels-gpu.txt $fetch 1000
}
