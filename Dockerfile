# syntax=docker/dockerfile:1
# The server with its command line: docker build -t parley .
FROM node:24.11-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund && npm rebuild esbuild
COPY . ./
RUN node release/bundle-programs.ts /out && mkdir /data

# No shell and no package manager; its user is 65532.
FROM gcr.io/distroless/nodejs24-debian12:nonroot
WORKDIR /app
COPY --from=build /out ./
COPY --from=build --chown=65532:65532 /data /data
ENV NODE_ENV=production
USER 65532:65532
# All that it keeps, its admin key too. Nothing else is written: run it with --read-only.
VOLUME /data
EXPOSE 4100
HEALTHCHECK --interval=30s --timeout=3s --start-period=30s CMD ["/nodejs/bin/node", "-e", "fetch('http://127.0.0.1:4100/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# Options of npm start may follow: docker run parley --nats nats://nats:4222
ENTRYPOINT ["/nodejs/bin/node", "--enable-source-maps", "bin/server.mjs", "--host", "0.0.0.0", "--data", "/data"]
CMD ["--port", "4100"]
