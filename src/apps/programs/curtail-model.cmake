curtail_program(curtail-model DEPENDS apps config data evaluate)
