import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import type { AgentConfig } from '../../agent/config-values.js';
import { listAgentKeys } from '../../agent/keys-file.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-agent-keys-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const certificate = `-----BEGIN CERTIFICATE-----
MIIBPjCB8aADAgECAhRyfb/Ww+3f5dF4eLcJ+vVLn3QJuDAFBgMrZXAwFDESMBAG
A1UEAwwJdGVzdC1yb290MCAXDTI2MTEyMTE3MDg1NFoYDzIxMjYxMDI4MTcwODU0
WjAUMRIwEAYDVQQDDAl0ZXN0LXJvb3QwKjAFBgMrZXADIQAxYchnugT71Cz6W3ml
9tO7ZVKYX2JaThNL9K1oJLYDjaNTMFEwHQYDVR0OBBYEFM2jI0vCn24NR8OUo0r2
D1NqMC9DMB8GA1UdIwQYMBaAFM2jI0vCn24NR8OUo0r2D1NqMC9DMA8GA1UdEwEB
/wQFMAMBAf8wBQYDK2VwA0EAS29AUjcJPyzhaTcDkesDX9mG00jHj5IAguTaRXYx
OsVhQNCPoirNZOX0XUOEompw0T3IhgcLpp4je05H+J+JAA==
-----END CERTIFICATE-----
`;

type Table = { [key: string]: unknown };
const base = (): Table => ({
  server: { url: 'http://localhost:3000', agent_token: 'svc_x' },
  databases: { shop: { staging: { url: 'postgres://u@localhost/d' } } },
});

/** agent.toml with these keys instead of, or beside, the ones it needs; null removes a key. */
function load(keys: Table, variables: Record<string, string> = {}): AgentConfig {
  const file = base();
  for (const [path, value] of Object.entries(keys)) {
    const names = path.split('.');
    let table: Table = file;
    for (const name of names.slice(0, -1)) {
      table[name] ??= {};
      table = table[name] as Table;
    }
    if (value === null) delete table[names.at(-1)!];
    else table[names.at(-1)!] = value;
  }
  writeFileSync(join(directory, 'agent.toml'), stringify(file));
  return loadAgentConfig(join(directory, 'agent.toml'), variables);
}

/** For each key: its default, another value, how that shows, and wrong values with their messages. */
interface Row {
  seen: (config: AgentConfig) => unknown;
  fallback: unknown;
  good: unknown;
  /** What is seen of `good`; itself if absent. */
  means?: unknown;
  with?: Table;
  bad: readonly [unknown, string][];
}

const integer = (low: number, seen: Row['seen'], fallback: unknown, good: number, means: unknown = good): Row => ({
  seen,
  fallback,
  good,
  means,
  bad: [
    [low - 1, `must be at least ${low}`],
    [`${good}`, 'must be a number'],
    [1.5, 'must be an integer'],
  ],
});
const flag = (seen: Row['seen'], good: boolean): Row => ({
  seen,
  fallback: !good,
  good,
  bad: [['yes', 'must be true or false']],
});
const file = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
  return name;
};
const shop = (config: AgentConfig) => config.databases[0]!;

const rows: Record<string, () => Row> = {
  agent_id: () => ({ seen: (c) => c.agentId, fallback: hostname(), good: 'eu-1', bad: [['', 'is empty']] }),
  max_concurrent_tasks: () => integer(1, (c) => c.maxConcurrentTasks, 8, 3),
  max_concurrent_explains: () => ({
    ...integer(0, (c) => c.maxConcurrentExplains, 2, 0),
    bad: [
      [-1, 'must be at least 0'],
      [11, 'must be at most 10'],
    ],
  }),
  poll_wait_ms: () => integer(0, (c) => c.pollWaitMs, 20_000, 0),
  poll_interval_ms: () => integer(1, (c) => c.pollIntervalMs, 1000, 50),
  drain_timeout_secs: () => integer(0, (c) => c.drainTimeoutMs, 60_000, 5, 5000),
  statement_timeout_secs: () => integer(0, (c) => c.statementTimeoutSecs, 60, 5),
  max_statement_timeout_secs: () => integer(0, (c) => c.maxStatementTimeoutSecs, 0, 5),
  operations: () => ({
    seen: (c) => c.operations,
    fallback: ['execute_select', 'execute_dml', 'migrate_up', 'migrate_down', 'migrate_status'],
    good: ['migrate_repair'],
    bad: [
      [[], 'must not be empty'],
      [['vanish'], 'must be one of'],
      ['execute_select', 'must be a list'],
    ],
  }),
  result_retry_secs: () => integer(0, (c) => c.resultRetryMs, 900_000, 1, 1000),
  fence_wait_secs: () => integer(0, (c) => c.fenceWaitMs, 30_000, 1, 1000),
  migration_lock_wait_secs: () => integer(0, (c) => c.migrationLockWaitMs, 60_000, 1, 1000),
  startup_retry_initial_ms: () => integer(1, (c) => c.startup.retryInitialMs, 1000, 5),
  startup_retry_max_ms: () => integer(1, (c) => c.startup.retryMaxMs, 15_000, 5),
  startup_max_wait_secs: () => integer(0, (c) => c.startup.maxWaitMs, 60_000, 0, Number.POSITIVE_INFINITY),
  'server.url': () => ({
    seen: (c) => c.server.url,
    fallback: 'http://localhost:3000',
    good: 'https://gateway.example/base//',
    means: 'https://gateway.example/base',
    bad: [
      ['ftp://h', 'must be an http:// or https:// address'],
      ['gateway', 'must be an http:// or https:// address'],
      ['http://user:word@h', 'must hold no user, password, query or fragment'],
      ['http://h/?a=1', 'must hold no user, password, query or fragment'],
      ['http://gateway.example', 'plain http to gateway.example is not allowed'],
      ['', 'is empty'],
    ],
  }),
  'server.agent_token': () => ({
    seen: (c) => c.server.agentToken,
    fallback: 'svc_x',
    good: ' any text-at-all\n'.replace(' text', ''),
    means: 'any-at-all',
    bad: [
      ['', 'is empty'],
      [' \n', 'is empty'],
      ['two words', 'holds a character that no token has'],
      ['schlüssel', 'holds a character that no token has'],
    ],
  }),
  'server.agent_token_file': () => ({
    seen: (c) => c.server.agentToken,
    fallback: 'svc_x',
    with: { 'server.agent_token': null },
    good: file('token', ' svc_file\n'),
    means: 'svc_file',
    bad: [
      ['none', 'no such file'],
      ['.', 'cannot be read (it is a folder)'],
      [file('blank', ' \n'), 'is empty'],
    ],
  }),
  // Whether it is allowed shows in what else the file may say.
  'server.allow_insecure': () => ({ ...flag(() => false, true), fallback: false, means: false }),
  'server.trusted_keys': () => ({
    seen: (c) => c.server.trustedKeys,
    fallback: null,
    good: ['ab'.repeat(32), 'cd'.repeat(32)],
    bad: [
      [[], 'is empty'],
      [['ab'.repeat(31)], 'server.trusted_keys.0: is no public key: 64 lowercase hex characters'],
      [['ab'.repeat(32), 'AB'.repeat(32)], 'server.trusted_keys.1: is no public key'],
      [[`${'ab'.repeat(32)}\n`], 'is no public key'],
      [[7], 'must be a string'],
      ['ab'.repeat(32), 'must be a list'],
      [Array.from({ length: 65 }, () => 'ab'.repeat(32)), 'must have at most 64 entries'],
    ],
  }),
  'server.trusted_keys_file': () => ({
    seen: (c) => c.server.trustedKeys,
    fallback: null,
    good: file('keys', `${'ab'.repeat(32)}\n\n ${'cd'.repeat(32)} \n`),
    means: ['ab'.repeat(32), 'cd'.repeat(32)],
    bad: [
      ['none', 'no such file'],
      [file('no-keys', ' \n'), 'is empty'],
      [file('other-keys', `${'ab'.repeat(32)}\nmine\n`), 'key 2 is no public key: 64 lowercase hex characters'],
      [file('many-keys', `${'ab'.repeat(32)}\n`.repeat(65)), 'holds more than 64 keys'],
    ],
  }),
  'server.ca_file': () => ({
    seen: (c) => c.server.ca,
    fallback: null,
    good: file('ca.pem', certificate),
    means: certificate,
    bad: [
      ['none.pem', 'no such file'],
      [file('wrong.pem', 'no certificate'), 'holds no certificate in PEM form'],
    ],
  }),
  'limits.max_rows': () => integer(0, (c) => c.limits.maxRows, 10_000, 5),
  'limits.max_result_bytes': () => integer(1024, (c) => c.limits.maxResultBytes, 10_485_760, 2048),
  'limits.max_row_bytes': () => integer(1024, (c) => c.limits.maxRowBytes, 16_777_216, 2048),
  'marker.mode': () => ({ seen: (c) => c.marker.mode, fallback: 'auto', good: 'off', bad: [['on', 'must be one of']] }),
  'marker.schema': () => ({
    seen: (c) => c.marker.schema,
    fallback: null,
    good: 'ops',
    bad: [['a.b', 'is no plain identifier']],
  }),
  'marker.table': () => ({
    seen: (c) => c.marker.table,
    fallback: 'svc_execution_marker',
    good: 'markers',
    bad: [['x; drop table y', 'is no plain identifier']],
  }),
  'marker.retention_days': () => integer(1, (c) => c.marker.retentionDays, 180, 400),
  'schema_sync.enabled': () => flag((c) => c.snapshotSync.enabled, false),
  'schema_sync.sync_on_startup': () => flag((c) => c.snapshotSync.onStartup, false),
  'schema_sync.interval_secs': () => integer(0, (c) => c.snapshotSync.intervalMs, 3_600_000, 60, 60_000),
  'probes.dir': () => ({
    seen: (c) => c.probes.dir,
    fallback: join(directory, 'state'),
    good: 'probes',
    means: join(directory, 'probes'),
    bad: [['', 'is empty']],
  }),
  'probes.listen': () => ({
    seen: (c) => c.probes.listen,
    fallback: null,
    good: '[::1]:8090',
    means: { host: '::1', port: 8090 },
    bad: [
      ['here', 'must be a port, host:port'],
      ['127.0.0.1:70000', 'must be a port, host:port'],
      [8080, 'must be a string'],
    ],
  }),
  'telemetry.otlp_endpoint': () => ({
    seen: (c) => c.telemetry.endpoint,
    fallback: null,
    good: 'https://collector.example:4318',
    bad: [
      ['ftp://h', 'must be an http or https address'],
      ['collector', 'must be an http or https address'],
      ['https://user:word@h', 'must hold no user, password, query or fragment'],
      ['https://h/?a=1', 'must hold no user, password, query or fragment'],
      ['http://collector.example', 'must be https, except on this machine'],
    ],
  }),
  'telemetry.sample_ratio': () => ({
    seen: (c) => c.telemetry.sampleRatio,
    fallback: 1,
    good: 0.25,
    bad: [
      [-0.1, 'must be at least 0'],
      [1.1, 'must be at most 1'],
      ['all', 'must be a number'],
    ],
  }),
  'telemetry.allow_insecure': () => ({
    ...flag((c) => c.telemetry.endpoint, true),
    with: { 'telemetry.otlp_endpoint': 'http://collector.example' },
    fallback: null,
    means: 'http://collector.example',
  }),
  'log.level': () => ({ seen: (c) => c.log.level, fallback: 'info', good: 'warn', bad: [['loud', 'must be one of']] }),
  'log.format': () => ({ seen: (c) => c.log.format, fallback: 'text', good: 'json', bad: [['xml', 'must be one of']] }),
  'databases.<name>.<environment>.url': () => ({
    seen: (c) => shop(c).url,
    fallback: 'postgres://u@localhost/d',
    good: 'mysql://u:p@localhost/d',
    bad: [
      ['oracle://h', 'must begin with postgres://, postgresql://, mysql:// or mariadb://'],
      ['postgres://a b', 'cannot be read as an address'],
      ['postgres://u:hunter/2@h/d', 'in a name or password / is written as %2F'],
      ['mysql://u:hunter#2@h/d', '# as %23'],
      ['mysql://u:100%@h/d', '% as %25'],
      ['mysql://h/d', 'names no host or no user'],
      ['postgres://u@h/d?options=-c%20search_path%3Dapp', 'use the key search_path'],
      ['', 'is empty'],
    ],
  }),
  'databases.<name>.<environment>.url_file': () => ({
    seen: (c) => shop(c).url,
    fallback: 'postgres://u@localhost/d',
    with: { 'databases.shop.staging.url': null },
    good: file('url', 'postgresql://file@localhost/d\n'),
    means: 'postgresql://file@localhost/d',
    bad: [
      ['none', 'no such file'],
      [file('nothing', ''), 'is empty'],
    ],
  }),
  'databases.<name>.<environment>.read_url': () => ({
    seen: (c) => shop(c).readUrl,
    fallback: 'postgres://u@localhost/d',
    good: 'postgres://reader@localhost/d',
    bad: [
      ['mysql://u@localhost/d', 'is of another kind of database than url'],
      ['redis://h', 'must begin with postgres://, postgresql://, mysql:// or mariadb://'],
    ],
  }),
  'databases.<name>.<environment>.read_url_file': () => ({
    seen: (c) => shop(c).readUrl,
    fallback: 'postgres://u@localhost/d',
    good: file('read', 'postgres://filed@localhost/d'),
    means: 'postgres://filed@localhost/d',
    bad: [
      ['none', 'no such file'],
      [file('empty', '\n'), 'is empty'],
    ],
  }),
  'databases.<name>.<environment>.search_path': () => ({
    seen: (c) => shop(c).searchPath,
    fallback: null,
    good: '"$user", app, "My Schema"',
    bad: [
      ['', 'is no list of schemas'],
      ['app,', 'is no list of schemas'],
      ['app public', 'is no list of schemas'],
      ['App', 'is no list of schemas'],
      ["app'; drop table x; --", 'is no list of schemas'],
      [`"${'a'.repeat(1000)}"`, 'must be at most 1000 characters'],
      [['app'], 'must be a string'],
    ],
  }),
  'databases.<name>.<environment>.pool_max': () => integer(1, (c) => shop(c).poolMax, null, 3),
  'databases.<name>.<environment>.explain_functions': () => ({
    seen: (c) => shop(c).explainFunctions,
    fallback: [],
    good: ['tax', 'billing.Net'],
    bad: [
      ['tax', 'must be a list'],
      [[1], 'must be a string'],
      [['a.b.c'], 'is no function'],
      [['tax()', 'net gross'], 'is no function'],
      [['public.pg_sleep'], 'is never planned before approval'],
      [['table_to_xml'], 'is never planned before approval'],
    ],
  }),
};

describe('every key of agent.toml (section 2, section 12)', () => {
  it('has a row here', () => {
    expect(listAgentKeys().map(({ path }) => path)).toEqual(Object.keys(rows));
    expect(listAgentKeys().filter(({ meaning }) => meaning === '')).toEqual([]);
  });

  it.each(Object.keys(rows))('%s: default, another value, and wrong ones named by the key (AP-01)', (path) => {
    const row = rows[path]!();
    const key = path.replace('<name>.<environment>', 'shop.staging');
    expect(row.seen(load({}))).toEqual(row.fallback);
    expect(row.seen(load({ ...row.with, [key]: row.good }))).toEqual('means' in row ? row.means : row.good);
    for (const [value, why] of row.bad) {
      const wrong = () => load({ ...row.with, [key]: value });
      expect(wrong).toThrow(`${join(directory, 'agent.toml')}: ${key}`);
      expect(wrong).toThrow(why);
    }
  });
});

describe('several databases and environments (AP-01)', () => {
  beforeAll(() => {
    file('reports-url', 'mysql://m:from-file@localhost/reports');
  });

  it('take credentials from variables and files, each for itself', () => {
    const config = load(
      {
        'databases.shop.staging.url': `postgres://w:\${SHOP_STAGING}@localhost/shop`,
        'databases.shop.production.url': `postgres://w:\${SHOP_PRODUCTION}@localhost/shop`,
        'databases.shop.production.read_url': `postgres://r:\${SHOP_READ:-none}@localhost/shop`,
        'databases.reports.production.url_file': 'reports-url',
      },
      { SHOP_STAGING: 'one', SHOP_PRODUCTION: 'two' },
    );
    expect(
      config.databases.map(({ database, environment, url, readUrl }) => [`${database}/${environment}`, url, readUrl]),
    ).toEqual([
      ['shop/staging', 'postgres://w:one@localhost/shop', 'postgres://w:one@localhost/shop'],
      ['shop/production', 'postgres://w:two@localhost/shop', 'postgres://r:none@localhost/shop'],
      ['reports/production', 'mysql://m:from-file@localhost/reports', 'mysql://m:from-file@localhost/reports'],
    ]);
  });

  it('tell every mistake at once, with its key and without any value', () => {
    const wrong = () =>
      load({
        'databases.shop.staging.url': 'oracle://user:secret-word@h',
        'databases.shop.production.url_file': 'nowhere',
        'databases.reports.staging.pool_max': 3,
        'server.agent_token': 'secret token',
      });
    for (const why of [
      'databases.shop.staging.url: must begin with postgres://, postgresql://, mysql:// or mariadb://',
      'databases.shop.production.url_file: no such file',
      'databases.reports.staging.url: a url or url_file is needed',
      'server.agent_token: holds a character that no token has',
    ])
      expect(wrong).toThrow(why);
    expect(wrong).not.toThrow(/secret/);
  });
});
