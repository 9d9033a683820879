import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultTimes, type RouteTimes } from '../../api/routes.js';
import { createServer, type RunningServer } from '../../api/server.js';
import { formatProblem, loadConfig } from '../../config/index.js';
import type { Config } from '../../config/types.js';
import { createLog } from '../../runtime/log.js';
import { version } from '../../runtime/version.js';
import { createTestDatabase, type TestDatabase } from './postgres.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from './toml.js';

export interface TestApiOptions {
  /** Everything in `server.toml` but `state_dir`, `[server]` `listen` and `drain_secs`, and `[database]` `url`. */
  toml?: string | undefined;
  times?: Partial<RouteTimes>;
  /** An existing database, for a second server on it; it is not dropped then. */
  database?: TestDatabase;
  /** Where the server finds that database, if not at its own address. */
  databaseUrl?: string;
  /** Where the build of the web console lies; nowhere if absent. */
  consoleDist?: URL;
  /** How long the server drains before it stops; 0 if absent. */
  drainSecs?: number;
  /** An existing state directory; it is not removed then. */
  stateDir?: string;
  forceBootstrap?: boolean;
  /** 64 hex characters; if absent, the same in all tests. */
  secretKey?: string;
  /** Host and port of a Temporal server; without it nothing listens there. */
  temporalAddress?: string;
}

export interface Person {
  roles?: string[];
  groups?: string[];
}

export interface CallOptions {
  token?: string | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, with the content type of `headers`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Parsed JSON, which tests may look into freely. */
export type Loose = ReturnType<typeof JSON.parse>;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The parsed body; null if there is none or it is not JSON. */
  body: Loose;
}

export interface TestApi {
  url: string;
  database: TestDatabase;
  stateDir: string;
  config: Config;
  services: RunningServer['services'];
  /** Lines that the server logged, as JSON text. */
  logged: string[];
  tokens: { admin: string; requester: string; agent: string };
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Makes a user over HTTP and returns the initial token. */
  createUser(id: string, person?: Person): Promise<string>;
  /** Makes several users. */
  createUsers<Id extends string>(people: Record<Id, Person>): Promise<Record<Id, string>>;
  /**
   * Starts another server on the same database and state directory, with the same configuration unless `options` has one. Close
   * it first.
   */
  another(options?: TestApiOptions): Promise<TestApi>;
  /** Reads `server.toml` of `stateDir` again, as SIGHUP does. */
  reload(): void;
  /** Begins to drain, as SIGTERM does; `close` waits for the end. */
  drain(): void;
  close(): Promise<void>;
}

export const shopToml = [
  databaseToml('shop', ['staging', 'production']),
  dbaTeamToml,
  passesToml('staging'),
  needsDbaToml('production'),
].join('');

/** The real server over HTTP on a free port, with a database of its own; `close` it after the test file. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const database = options.database ?? (await createTestDatabase());
  const stateDir = options.stateDir ?? (await mkdtemp(join(tmpdir(), 'svc-api-')));
  const config = await writeConfig(options, stateDir, options.databaseUrl ?? database.url);
  const logged: string[] = [];
  const log = createLog({ process: 'server', version, level: 'debug', format: 'json', write: (line) => logged.push(line) });
  const stop = new AbortController();
  const server = await createServer({
    config,
    listen: '127.0.0.1:0',
    forceBootstrap: options.forceBootstrap ?? false,
    consoleDist: options.consoleDist ?? new URL('file:///nonexistent/'),
    log,
    signal: stop.signal,
    times: { ...defaultTimes, ...options.times },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const call: TestApi['call'] = (method, path, how = {}) => callOnce(url, method, path, how);
  const tokenOf = (name: string) => readFile(join(stateDir, name), 'utf8').catch(() => '');
  const tokens = {
    admin: await tokenOf('admin-token'),
    requester: await tokenOf('requester-token'),
    agent: await tokenOf('agent-token'),
  };
  const createUser: TestApi['createUser'] = async (id, { roles = [], groups = [] } = {}) => {
    const answer = await call('POST', '/api/users', { token: tokens.admin, body: { id, roles, groups } });
    if (answer.status !== 201) throw new Error(`user ${id}: ${answer.status} ${answer.text}`);
    return answer.body.token;
  };
  return {
    url,
    database,
    stateDir,
    config,
    services: server.services,
    logged,
    tokens,
    call,
    createUser,
    createUsers: async <Id extends string>(people: Record<Id, Person>) => {
      const made: Partial<Record<Id, string>> = {};
      for (const id in people) made[id] = await createUser(id, people[id]);
      return made as Record<Id, string>;
    },
    another: (over = {}) => startTestApi({ toml: options.toml, ...over, database, stateDir }),
    reload: server.reload,
    drain: () => stop.abort(),
    close: async () => {
      stop.abort();
      await server.stopped;
      if (options.stateDir === undefined) await rm(stateDir, { recursive: true, force: true });
      if (options.database === undefined) await database.drop();
    },
  };
}

async function writeConfig(options: TestApiOptions, stateDir: string, url: string): Promise<Config> {
  const file = join(stateDir, 'server.toml');
  const lines = [
    `state_dir = "${stateDir}"`,
    options.toml ?? shopToml,
    `[server]\nlisten = "127.0.0.1:0"\ndrain_secs = ${options.drainSecs ?? 0}`,
    `[database]\nurl = "${url}"\npool_max = 10`,
    `[temporal]\naddress = "${options.temporalAddress ?? '127.0.0.1:1'}"`,
  ];
  // Several may start with this folder at once, and none reads half of a file.
  const made = `${file}.${randomUUID()}`;
  await writeFile(made, lines.join('\n'));
  await rename(made, file);
  const loaded = loadConfig(file, { SVC_SECRET_KEY: options.secretKey ?? '5e'.repeat(32) });
  if (!loaded.ok) throw new Error(loaded.errors.map(formatProblem).join('\n'));
  return loaded.config;
}

async function callOnce(url: string, method: string, path: string, options: CallOptions): Promise<Answer> {
  const json = options.body === undefined ? null : JSON.stringify(options.body);
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...(json === null ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    body: json ?? options.raw ?? null,
    signal: options.signal ?? null,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
