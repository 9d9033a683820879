import pg from 'pg';
import { stopAfter } from '../../../lib/deadline.js';
import { asServerError } from './errors.js';
import { Exchange, type Step } from './exchange.js';
import { type RowTap, type TappedConnection, tapRows } from './frames.js';
import { BE_ORIGIN, differs, type FixedSettings, type OwnSettings, REPLICATION_ROLE } from './settings.js';

/** A client of the driver whose rows arrive as raw bytes. */
export interface TappedClient extends pg.ClientBase {
  tap: RowTap;
  connection: pg.Connection;
  host: string;
  port: number;
  processID: number;
  secretKey: number;
  backend: Backend;
}

/** Identifies a session of the server permanently. Process ids are reused, soon so after a container restart. */
export interface Backend extends OwnSettings {
  pid: string;
  since: string;
  /** The system identifier of the cluster; null where the role may not ask for it. */
  cluster: string | null;
  /** Statements for what start options cannot set; repeated after each reset of the session. */
  settings: readonly string[];
}

/** The class of these clients; a row above `maxRowBytes` ends the connection. */
export function tappedClient(maxRowBytes: number) {
  return class extends pg.Client {
    declare processID: number;
    declare secretKey: number;
    readonly tap: RowTap = { onRow: null, tooLarge: false };
    backend: Backend = { pid: '', since: '', cluster: null, encoding: 'UTF8', role: 'none', settings: [] };

    constructor(config?: pg.ClientConfig) {
      super(config);
      // A connection may break at any time, even before its requester gets it. Without a listener Node would exit. Its next use
      // fails.
      this.on('error', () => {});
      tapRows(this.connection as unknown as TappedConnection, this.tap, maxRowBytes);
    }
  };
}

/**
 * Asks a new connection for its identity; behind a pooling proxy it differs from the server's greeting. Throws a ConnectFailure
 * when a setting that changes the meaning of texts is wrong (HD-30).
 */
export async function learnBackend(client: TappedClient, fixed: FixedSettings, timeoutMs: number): Promise<void> {
  const learn = async () => {
    const [who, found] = await ask(client, [{ kind: 'run', text: WHO }, fixed.look]);
    const [pid, since, serverEncoding, role] = who ?? [];
    const encoding = serverEncoding === 'SQL_ASCII' ? 'SQL_ASCII' : 'UTF8';
    // Before version 18, DISCARD ALL resets the role that the account sets by default.
    const settings = role === 'none' ? [] : ['reset role'];
    client.backend = {
      pid: pid ?? '',
      since: since ?? '',
      cluster: await clusterOf(client),
      encoding,
      role: role ?? '',
      settings,
    };
    await setTheRest(client, fixed, found);
  };
  await stopAfter(timeoutMs, () => client.connection.stream.destroy(), learn);
}

/** Sets what start options cannot; `found` holds the settings before that. */
async function setTheRest(client: TappedClient, fixed: FixedSettings, found: Row | undefined): Promise<void> {
  const { encoding } = client.backend;
  let wrong = fixed.problemIn(found, client.backend);
  for (const text of [NO_ENCODING, BE_ORIGIN]) {
    // Only a superuser can choose the origin role. Where one has set something else, other accounts keep it.
    if (text === NO_ENCODING ? encoding === 'UTF8' : wrong?.name !== REPLICATION_ROLE) continue;
    try {
      const [, again] = await ask(client, [{ kind: 'run', text }, fixed.look]);
      wrong = fixed.problemIn(again, client.backend);
      client.backend = { ...client.backend, settings: [...client.backend.settings, text] };
    } catch (error) {
      if (asServerError(error) === null) throw error;
    }
  }
  if (wrong !== null) throw differs(wrong);
}

type Row = (string | null)[];

/** Replaces the encoding of the start options. */
const NO_ENCODING = "set client_encoding to 'SQL_ASCII'";

const WHO = `select pid::text, backend_start::text, pg_catalog.current_setting('server_encoding'), pg_catalog.current_setting('role')
  from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()`;

async function clusterOf(client: TappedClient): Promise<string | null> {
  const text = 'select system_identifier::text from pg_catalog.pg_control_system()';
  try {
    return (await ask(client, [{ kind: 'run', text }]))[0]?.[0] ?? null;
  } catch (error) {
    if (asServerError(error) === null) throw error;
    return null;
  }
}

async function ask(client: TappedClient, steps: Step[]): Promise<(Row | undefined)[]> {
  const exchange = new Exchange(steps, client.tap);
  client.query(exchange);
  return (await exchange.done).map(({ rows }) => rows[0]);
}

export function connectionConfig(options: { url: string; connectTimeoutMs: number }, fixed: FixedSettings): pg.ClientConfig {
  const url = new URL(options.url);
  const own = url.searchParams.get('options');
  url.searchParams.delete('options');
  meanVerifyFull(url.searchParams);
  return {
    connectionString: url.href,
    // When an option is given twice, the last one counts.
    options: [...(own ? [own] : []), ...fixed.startOptions].join(' '),
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    fallback_application_name: 'svc-agent',
  };
}

/** The library takes these for `verify-full`, as our rule does (HD-82), but says in a log of many lines that a later version of it will not. */
function meanVerifyFull(options: URLSearchParams): void {
  const mode = options.getAll('sslmode').at(-1) ?? '';
  if (['prefer', 'require', 'verify-ca'].includes(mode) && !options.has('uselibpqcompat')) options.set('sslmode', 'verify-full');
}
