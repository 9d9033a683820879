import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'mysql2';
import { ConnectFailure } from '../driver.js';
import { unreadableAnswer } from '../faults.js';
import { packetMeter } from './packets.js';
import type { MysqlAddress } from './url.js';

export interface MysqlColumn {
  name: string;
  columnType: number;
  characterSet: number;
  columnLength: number;
  flags: number;
  /** MariaDB's own types and formats, which the protocol sends as other types. */
  extendedTypeName?: string | undefined;
  extendedFormat?: string | undefined;
}

/** A connection of the library, with the internals that sessions use. */
export interface MysqlClient extends EventEmitter {
  stream: Socket;
  config: { charsetNumber: number };
  packetParser: { execute(chunk: Buffer): void };
  format(text: string, values: readonly string[]): string;
  addCommand(command: EventEmitter): void;
  reset(done: (error: Error | null) => void): void;
  end(): void;
  /** A query that emits each row as an array of bytes. */
  newQuery(text: string): EventEmitter;
  /** Set when the connection ended because a row was too large. */
  rowTooLarge: boolean;
}

/** Opens a connection; disables multiple statements per text, local files and lenient name parsing (AP-30). */
export async function connectMysql(address: MysqlAddress, maxRowBytes: number, connectTimeoutMs: number): Promise<MysqlClient> {
  // Loaded on the first connection: an agent without MySQL targets never loads it.
  const { default: mysql } = await import('mysql2');
  const { host, port, user, password, database } = address;
  const ssl = await tlsOptions(address);
  const options: ConnectionOptions = {
    host,
    port,
    user,
    password,
    multipleStatements: false,
    disableEval: true,
    trace: false,
    ...(database === null ? {} : { database }),
    ...(ssl === null ? {} : { ssl }),
    charset: 'UTF8MB4_GENERAL_CI',
    connectTimeout: connectTimeoutMs,
    keepAliveInitialDelay: 30_000,
    flags: ['-LOCAL_FILES', '-IGNORE_SPACE', '-ODBC', '-MULTI_STATEMENTS'],
  };
  const client = mysql.createConnection(options) as unknown as MysqlClient;
  client.newQuery = (text) =>
    (mysql as unknown as LibraryParts).createQuery(
      { sql: text, rowsAsArray: true, typeCast: false },
      undefined,
      undefined,
      client.config,
    );
  keepEncoding(client);
  limitRows(client, maxRowBytes);
  await new Promise<void>((resolve, reject) => {
    client.once('connect', () => resolve());
    client.on('error', reject);
  });
  return client;
}

interface LibraryParts {
  createQuery(options: object, values: undefined, done: undefined, config: object): EventEmitter;
}

/**
 * The library encodes a text in the character set that the session tells to have changed to. In one of a byte per letter other letters then become
 * quotes; the bytes that were approved are UTF-8.
 */
function keepEncoding(client: MysqlClient): void {
  const { charsetNumber } = client.config;
  Object.defineProperty(client.config, 'charsetNumber', { get: () => charsetNumber, set: () => {} });
}

/** Ends the connection at a packet that is too large or cannot be read. */
export function limitRows(client: MysqlClient, maxRowBytes: number): void {
  const fits = packetMeter(maxRowBytes);
  const parser = client.packetParser;
  client.rowTooLarge = false;
  client.packetParser = {
    execute(chunk) {
      if (client.rowTooLarge || client.stream.destroyed) return;
      try {
        if (fits(chunk)) return parser.execute(chunk);
        client.rowTooLarge = true;
        client.stream.destroy();
      } catch {
        client.stream.destroy(unreadableAnswer());
      }
    },
  };
}

async function tlsOptions({ tls }: MysqlAddress): Promise<NonNullable<ConnectionOptions['ssl']> | null> {
  if (tls.mode === 'disabled') return null;
  const verify = tls.mode !== 'required';
  const verifyIdentity = tls.mode === 'verify_identity';
  if (tls.ca === null) return { rejectUnauthorized: verify, verifyIdentity };
  try {
    return { rejectUnauthorized: verify, verifyIdentity, ca: await readFile(tls.ca, 'utf8') };
  } catch {
    throw new ConnectFailure('connection', 'the file of ssl-ca cannot be read');
  }
}
