# Two images, for the gateway (svc server, svc worker) and for the agent: docker build --target gateway . or --target agent .
ARG NODE=node:24-bookworm-slim

FROM ${NODE} AS release
WORKDIR /source
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run release && mkdir /release && tar xzf release/svc-gateway-*.tgz -C /release --strip-components=1
WORKDIR /release
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  # The native part of Temporal comes for five platforms; one runs here.
  && cd node_modules/@temporalio/core-bridge && rm -rf sdk-core src \
  && find releases -mindepth 1 -maxdepth 1 ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +

FROM release AS agent-release
# What only server and worker load.
RUN rm -rf node_modules/@temporalio node_modules/@swc node_modules/webpack node_modules/@aws-sdk node_modules/@smithy node_modules/swagger-ui-dist node_modules/@slack dist/workflow-bundle.js db

FROM ${NODE} AS gateway
# Temporal's client is native and trusts the certificates of the system; Node brings its own.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=release /release /opt/svc
RUN ln -s /opt/svc/bin/svc /usr/local/bin/svc && install -d -o node -g node -m 0700 /var/lib/svc
USER node
WORKDIR /var/lib/svc
ENV NODE_ENV=production
ENTRYPOINT ["svc"]
CMD ["server", "--config", "/etc/svc/server.toml"]

FROM ${NODE} AS agent
COPY --from=agent-release /release /opt/svc
RUN ln -s /opt/svc/bin/svc-agent /usr/local/bin/svc-agent && install -d -o node -g node -m 0700 /var/lib/svc-agent
USER node
WORKDIR /var/lib/svc-agent
ENV NODE_ENV=production
ENTRYPOINT ["svc-agent"]
CMD ["--config", "/etc/svc/agent.toml"]
