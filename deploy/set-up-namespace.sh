#!/bin/sh
# Makes the namespace and registers the search attributes that runs set. What is there already is left alone, so
# it may run at every start. The server and the namespace come from the environment: TEMPORAL_ADDRESS,
# TEMPORAL_NAMESPACE.
set -eu

SEARCH_ATTRIBUTES="RunPhase RunNode RunWorkflow RunPackage RunAgent RunProject"
RETENTION=30d # how long Temporal keeps a run that has ended; its files in the store stay

# Tries a command once a second, for a minute.
until_it_works() {
  tries=0
  until output=$("$@" 2>&1); do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
      echo "Gave up on: $*" >&2
      echo "$output" >&2
      return 1
    fi
    sleep 1
  done
}

until_it_works temporal operator cluster health

ensure_namespace() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1 ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
}
until_it_works ensure_namespace

until_it_works temporal operator search-attribute list
registered=$output
for name in $SEARCH_ATTRIBUTES; do
  if echo "$registered" | grep -q "^ *$name "; then continue; fi
  echo "Registering the search attribute $name"
  until_it_works temporal operator search-attribute create --name "$name" --type Keyword
done
