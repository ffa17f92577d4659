curtail_program(curtail-poll DEPENDS apps config signals poll)
