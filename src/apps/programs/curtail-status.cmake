curtail_program(curtail-status DEPENDS apps config status)
