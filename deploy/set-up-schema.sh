#!/bin/sh
# Makes Temporal's two databases and brings their schemas to the version of these tools. What is there already
# is left alone, so it may run at every start. The connection comes from the environment: SQL_PLUGIN, SQL_HOST,
# SQL_PORT, SQL_USER, SQL_PASSWORD.
set -eu

set_up() {
  database=$1
  schema=$2
  echo "Setting up $database"
  temporal-sql-tool --database "$database" create-database
  temporal-sql-tool --database "$database" setup-schema --version 0.0
  temporal-sql-tool --database "$database" update-schema --schema-name "$schema"
}

set_up temporal postgresql/v12/temporal
set_up temporal_visibility postgresql/v12/visibility
echo "The schemas are up to date."
