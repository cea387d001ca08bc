# The worker (`interlock worker`), and the `interlock` command for `docker compose exec worker interlock …`.
# Debian, not Alpine: the native part of the Temporal SDK needs glibc.
FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS build
WORKDIR /app

# Dependencies by themselves, so that a change of the source does not fetch them again. No scripts: `prepare` would
# build before the source is there.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts

COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
# Into the result: what traces need, in the versions of the lock file (40 MB). Out of it: what only the build needs, and the
# SDK's native part for other platforms (110 MB).
RUN npm run build \
  && npm install --save-prod --ignore-scripts $(node -p 'Object.entries(require("./package.json").peerDependencies).map((each) => each.join("@")).join(" ")') \
  && npm prune --omit=dev --ignore-scripts \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} +

FROM node:24.21.0-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
ENV NODE_ENV=production
# Fewer pools of freed memory: an idle worker holds a tenth less (docs/settings.md).
ENV MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY examples examples
COPY deploy/worker-health.mjs deploy/
RUN ln -s /app/dist/cli/main.js /usr/local/bin/interlock

# Whose files the worker reads and writes: the owner of the projects on the host. A new store volume takes the owner
# of the directory it is mounted over.
ARG WORKER_UID=1000
ARG WORKER_GID=1000
RUN install -d -m 700 -o "$WORKER_UID" -g "$WORKER_GID" /store
ENV INTERLOCK_STORE=/store
USER $WORKER_UID:$WORKER_GID

CMD ["interlock", "worker"]
