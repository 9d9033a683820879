import pg from 'pg';
import { type RowTap, type TappedConnection, tapRows } from './frames.js';

/** A client of the driver whose rows come as raw bytes. */
export interface TappedClient extends pg.ClientBase {
  tap: RowTap & { tooLarge: boolean };
  connection: pg.Connection;
  host: string;
  port: number;
  processID: number;
  secretKey: number;
}

/** The class of such clients; a row above `maxRowBytes` ends the connection. */
export function tappedClient(maxRowBytes: number) {
  return class extends pg.Client {
    declare processID: number;
    declare secretKey: number;
    readonly tap = { onRow: null, tooLarge: false } as TappedClient['tap'];

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
