# SPDX-License-Identifier: Apache-2.0
# cmake -DHTML=... -DSTYLE=... -DSCRIPT=... -DOUT=... -P embed_page.cmake
# Writes the three files as string literals into OUT, a C++ source.

# C++ compilers need only accept literals of 64 KiB, so longer text becomes adjacent literals.
function(append_literal name file)
    file(READ ${file} text)
    set(out "")
    string(LENGTH "${text}" left)
    set(from 0)
    while(from LESS left)
        string(SUBSTRING "${text}" ${from} 16000 piece)
        string(APPEND out "R\"page~(${piece})page~\"\n")
        math(EXPR from "${from} + 16000")
    endwhile()
    string(APPEND literals "extern std::string_view const ${name} =\n${out}    ;\n")
    set(literals "${literals}" PARENT_SCOPE)
endfunction()

set(literals "")
append_literal(page_html ${HTML})
append_literal(page_style ${STYLE})
append_literal(page_script ${SCRIPT})
file(WRITE ${OUT} "#include <string_view>\nnamespace curtail::report {\n${literals}}\n")
