# sh checked.sh [--chunks | --data] PATH...: writes checked.parquet, with what `b2nd check` finds in each file.
b2nd check --json --unordered "$@" | duckdb -c "
  copy (
    from read_json('/dev/stdin', format = 'newline_delimited', columns = {
      path: 'varchar', dtype_name: 'varchar',
      findings: 'struct(code varchar, severity varchar, place varchar, chunk ubigint, message varchar)[]',
      unchecked: 'struct(what varchar, chunks ubigint, why varchar)[]', mend: 'varchar',
      error: 'struct(kind varchar, message varchar)'
    })
  ) to 'checked.parquet'"
