import pg from 'pg';
import { Exchange } from './exchange.js';
import { type RowTap, type TappedConnection, tapRows } from './frames.js';

/** A client of the driver whose rows come as raw bytes. */
export interface TappedClient extends pg.ClientBase {
  tap: RowTap & { tooLarge: boolean };
  connection: pg.Connection;
  host: string;
  port: number;
  processID: number;
  secretKey: number;
  backend: Backend;
}

/** What names a session of the server for good: its process id comes again, soon so where a container starts anew. */
export interface Backend {
  pid: string;
  since: string;
  /** Whether the database knows no encoding: what is no UTF-8 it sends only to a client without one (section 10). */
  isAscii: boolean;
}

/** The class of such clients; a row above `maxRowBytes` ends the connection. */
export function tappedClient(maxRowBytes: number) {
  return class extends pg.Client {
    declare processID: number;
    declare secretKey: number;
    readonly tap = { onRow: null, tooLarge: false } as TappedClient['tap'];
    backend: Backend = { pid: '', since: '', isAscii: false };

    constructor(config?: pg.ClientConfig) {
      super(config);
      // A connection may break at any time, also on its way to who asked for it; without a listener Node would end the process. Its next use fails.
      this.on('error', () => {});
      tapRows(this.connection as unknown as TappedConnection, this.tap, maxRowBytes, () => {
        this.tap.tooLarge = true;
      });
    }
  };
}

/** Asks a new connection who it is; behind a pooling proxy that is not what the server's greeting says. */
export async function learnBackend(client: TappedClient, timeoutMs: number): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), timeoutMs);
  try {
    const [pid, since, encoding] = await ask(client, WHO);
    client.backend = { pid: pid ?? '', since: since ?? '', isAscii: encoding === 'SQL_ASCII' };
    if (client.backend.isAscii) await ask(client, NO_ENCODING);
  } finally {
    clearTimeout(timer);
  }
}

/** Takes the place of the encoding of the start options. */
export const NO_ENCODING = "set client_encoding to 'SQL_ASCII'";

const WHO = `select pid::text, backend_start::text, pg_catalog.current_setting('server_encoding')
  from pg_catalog.pg_stat_activity where pid = pg_catalog.pg_backend_pid()`;

async function ask(client: TappedClient, text: string): Promise<(string | null)[]> {
  const exchange = new Exchange([{ kind: 'run', text }], client.tap);
  client.query(exchange);
  return (await exchange.done)[0]?.rows[0] ?? [];
}

/** Start options win over settings of role and database, and `DISCARD ALL` comes back to them. */
export function connectionConfig(options: { url: string; readOnly: boolean; connectTimeoutMs: number }): pg.ClientConfig {
  const url = new URL(options.url);
  const settings = [
    'client_encoding=UTF8',
    'DateStyle=ISO',
    'IntervalStyle=postgres',
    'TimeZone=UTC',
    'bytea_output=hex',
    'extra_float_digits=1',
    ...(options.readOnly ? ['default_transaction_read_only=on'] : []),
  ].map((setting) => `-c ${setting}`);
  const own = url.searchParams.get('options');
  url.searchParams.delete('options');
  return {
    connectionString: url.href,
    options: [...(own ? [own] : []), ...settings].join(' '),
    connectionTimeoutMillis: options.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    fallback_application_name: 'svc-agent',
  };
}
