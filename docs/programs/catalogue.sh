# sh catalogue.sh PATH...: writes catalogue.parquet, with a row for each array and each file that cannot be read.
# The columns are named here: DuckDB would take them from the first lines, in which no file may have failed.
b2nd ls --json --unordered "$@" | duckdb -c "
  copy (
    from read_json('/dev/stdin', format = 'newline_delimited', columns = {
      path: 'varchar', member: 'varchar', 'offset': 'ubigint', kind: 'varchar', layout: 'varchar',
      shape: 'bigint[]', chunks: 'integer[]', blocks: 'integer[]', dtype: 'varchar', dtype_name: 'varchar',
      nbytes: 'bigint', stored_nbytes: 'bigint', cbytes: 'bigint', cratio: 'double',
      codec: 'varchar', clevel: 'utinyint', filters: 'varchar[]',
      findings: 'struct(code varchar, severity varchar)[]',
      error: 'struct(kind varchar, message varchar)'
    })
  ) to 'catalogue.parquet'"
