#!/bin/sh
# A Temporal server on PostgreSQL with the settings of docker-compose.yml, without containers, on the loopback address: to be measured in the
# place of the embedded one. It goes on until it is interrupted. In the environment:
#   TEMPORAL_SERVER, TEMPORAL_SQL_TOOL   programs built from Temporal's module: cmd/server and cmd/tools/sql
#   TEMPORAL_CLI                         the temporal command
#   POSTGRES_BIN                         where initdb and postgres are
#   DIR                                  a directory that is not there yet; the database is made in it
#   PORT, POSTGRES_PORT                  17233 and 15432 unless set
#   NUM_HISTORY_SHARDS, DYNAMIC_CONFIG_FILE_PATH, SQL_MAX_CONNS   as in docker-compose.yml unless set
set -eu
for name in TEMPORAL_SERVER TEMPORAL_SQL_TOOL TEMPORAL_CLI POSTGRES_BIN DIR; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then
    echo "$name is not set: the head of bench/temporal-on-postgres.sh says what it wants." >&2
    exit 2
  fi
done
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/../deploy
PORT=${PORT:-17233}
POSTGRES_PORT=${POSTGRES_PORT:-15432}
if "${TEMPORAL_CLI}" operator cluster health --address "127.0.0.1:$PORT" >/dev/null 2>&1; then
  echo "Port $PORT is another server's." >&2
  exit 1
fi
mkdir -m 755 "$DIR"

# PostgreSQL refuses to be root's.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}
if [ "$(id -u)" = 0 ]; then chown postgres "$DIR"; fi
as_postgres "$POSTGRES_BIN/initdb" --pgdata="$DIR/data" --username=temporal --auth=trust >"$DIR/initdb.log"
as_postgres "$POSTGRES_BIN/postgres" -D "$DIR/data" -p "$POSTGRES_PORT" -k "$DIR" \
  -c listen_addresses=127.0.0.1 >"$DIR/postgres.log" 2>&1 &
server=
end() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  kill -INT "$(head -n 1 "$DIR/data/postmaster.pid")" 2>/dev/null || true
  wait
}
trap end EXIT
trap 'exit 0' INT TERM
until "$POSTGRES_BIN/pg_isready" --quiet --host=127.0.0.1 --port="$POSTGRES_PORT" --username=temporal; do
  kill -0 $! || exit 1
  sleep 1
done
postgres=$(head -n 1 "$DIR/data/postmaster.pid")

mkdir "$DIR/bin"
ln -s "$TEMPORAL_SQL_TOOL" "$DIR/bin/temporal-sql-tool"
ln -s "$TEMPORAL_CLI" "$DIR/bin/temporal"
export PATH="$DIR/bin:$PATH"
SQL_PLUGIN=postgres12 SQL_HOST=127.0.0.1 SQL_PORT=$POSTGRES_PORT SQL_USER=temporal SQL_PASSWORD=unused \
  sh "$deploy/set-up-schema.sh" >"$DIR/schema.log" 2>&1

export DB=postgres12 POSTGRES_SEEDS=127.0.0.1 DB_PORT="$POSTGRES_PORT" POSTGRES_USER=temporal POSTGRES_PWD=unused
export DBNAME=temporal VISIBILITY_DBNAME=temporal_visibility BIND_ON_IP=127.0.0.1 LOG_LEVEL=warn
export NUM_HISTORY_SHARDS="${NUM_HISTORY_SHARDS:-64}" SQL_MAX_CONNS="${SQL_MAX_CONNS:-20}"
export DYNAMIC_CONFIG_FILE_PATH="${DYNAMIC_CONFIG_FILE_PATH:-$deploy/dynamicconfig/interlock.yaml}"
# The ports beside the first one follow it.
export FRONTEND_GRPC_PORT="$PORT" FRONTEND_HTTP_PORT=$((PORT + 10)) FRONTEND_MEMBERSHIP_PORT=$((PORT + 20))
export HISTORY_GRPC_PORT=$((PORT + 1)) HISTORY_MEMBERSHIP_PORT=$((PORT + 21))
export MATCHING_GRPC_PORT=$((PORT + 2)) MATCHING_MEMBERSHIP_PORT=$((PORT + 22))
export WORKER_GRPC_PORT=$((PORT + 6)) WORKER_MEMBERSHIP_PORT=$((PORT + 26))
"$TEMPORAL_SERVER" --allow-no-auth start >"$DIR/server.log" 2>&1 &
server=$!
until "$TEMPORAL_CLI" operator cluster health --address "127.0.0.1:$PORT" >/dev/null 2>&1; do
  kill -0 "$server" || exit 1
  sleep 1
done
TEMPORAL_ADDRESS=127.0.0.1:$PORT TEMPORAL_NAMESPACE=default sh "$deploy/set-up-namespace.sh" >"$DIR/namespace.log" 2>&1
echo "Ready: npm run bench -- pairs --address 127.0.0.1:$PORT --server-pid $server (PostgreSQL: process $postgres)"
wait "$server"
