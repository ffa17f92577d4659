curtail_program(curtail-train DEPENDS apps train comm)
