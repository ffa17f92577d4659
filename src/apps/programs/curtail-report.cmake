curtail_program(curtail-report DEPENDS apps report)
target_compile_definitions(curtail-report PRIVATE CURTAIL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
