curtail_program(curtail-data DEPENDS apps data)
