import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type Connection, type Submittable } from 'pg';

/** What a statement had done to its transaction at its end, before the rollback. */
export interface Trace {
  /** Null if it took no transaction id: it wrote no row, logged sequence, catalog entry or row lock. */
  transactionId: string | null;
  /**
   * Locks stronger than those of a read, and advisory locks, unless they were held before. `currval` locks its sequence like a
   * writer.
   */
  locks: string | null;
  /** Somebody wrote to the log of the server in the meantime. */
  movedLog: boolean;
}

/** A statement run in three transactions, one after the other. Those from the first error on are missing. */
export interface Watched {
  error: ServerError | null;
  /** With all rights, in a transaction that may write. */
  writable: Trace | undefined;
  /** With all rights, in the transaction that the agent opens for reads. */
  readOnly: Trace | undefined;
  /** By a role that may read everything and write nothing, in a transaction that may write. */
  reader: Trace | undefined;
}
type ServerError = Error & { code?: string };
type Row = readonly (string | null)[];

const position = 'pg_catalog.pg_current_wal_insert_lsn()::text';
const probe = `select ${position}, pg_catalog.pg_current_xact_id_if_assigned()::text,
  (select pg_catalog.string_agg(l.locktype || ' ' || l.mode, ', ') from pg_catalog.pg_locks l
   where l.pid = pg_catalog.pg_backend_pid() and (l.locktype = 'advisory' or l.mode not in ('AccessShareLock', 'ExclusiveLock'))
   and not exists (select from pg_catalog.pg_class c where c.oid = l.relation and c.relkind = 'S' and l.mode = 'RowExclusiveLock'))`;

/** Waits for a server that is coming back after a crash. */
async function connect(url: string): Promise<pg.Client> {
  for (let left = 100; ; left -= 1) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (left === 0) throw error;
      await sleep(100);
    }
  }
}

export type WatchedSession = Awaited<ReturnType<typeof openWatchedSession>>;

/** One connection that runs statements as they are: to prepare things, or watched, in transactions that are rolled back. */
export async function openWatchedSession(url: string) {
  let client = await connect(url);
  const send = (text: string, data = '') => new Promise<Answer>((resolve) => void client.query(new Message(text, data, resolve)));
  let watching = false;
  return {
    /**
     * Runs a text outside of the watched transactions. Returns the first row of each of its statements and the error that ended
     * it.
     */
    async run(text: string, data?: string): Promise<Answer> {
      if (watching) await send('rollback');
      watching = false;
      return send(text, data);
    },
    async watch(statement: string): Promise<Watched> {
      watching = true;
      const texts = begins.map((begin) => `rollback; ${begin}; select ${position};\n${statement}\n;${probe}`);
      const { firstRows, error } = await send(['rollback', probe, ...texts].join(';'));
      const heldBefore = firstRows[1]?.[2] ?? null;
      const [writable, readOnly, reader] = begins.map((_, index) =>
        traceOf(firstRows.slice(2 + index * perBegin, 2 + (index + 1) * perBegin), heldBefore),
      );
      return { error, writable, readOnly, reader };
    },
    /** Connects again if a statement ended the connection or the server. Returns whether it did. */
    async reconnect(): Promise<boolean> {
      const probed = await send('select 1');
      if (probed.error === null || probed.error.code !== undefined) return false;
      client = await connect(url);
      watching = false;
      return true;
    },
    close: () => client.end(),
  };
}

/** A role that a server for these tests must have. */
export const readerRole = 'svc_reader';
const limit = 'set local statement_timeout = 250';
/** All have the same number of statements, so that the answers can be told apart. */
const begins = [
  `begin; ${limit}; set local lock_timeout = 500`,
  `begin read only; ${limit}; set local lock_timeout = 500`,
  `begin; ${limit}; set local role ${readerRole}`,
];
/** ROLLBACK, what begins, the position in the log, the statement, a probe. */
const perBegin = 7;

function traceOf(rows: readonly (Row | null)[], heldBefore: string | null): Trace | undefined {
  const [before, after] = [rows.at(-3), rows.at(-1)];
  if (rows.length < perBegin || !before || !after) return undefined;
  const locks = after[2] === heldBefore ? null : (after[2] ?? null);
  return { transactionId: after[1] ?? null, locks, movedLog: before[0] !== after[0] };
}

export interface Answer {
  firstRows: readonly (Row | null)[];
  error: ServerError | null;
}

/** A message of the simple protocol. Keeps only the first row of each statement. */
class Message implements Submittable {
  readonly #rows: (Row | null)[] = [];
  #row: Row | null = null;

  constructor(
    readonly text: string,
    readonly data: string,
    readonly done: (answer: Answer) => void,
  ) {}

  submit(connection: Connection): void {
    (connection as unknown as { query(text: string): void }).query(this.text);
  }
  handleRowDescription(): void {}
  handleDataRow({ fields }: { fields: Row }): void {
    this.#row ??= fields;
  }
  handleCommandComplete(): void {
    this.#rows.push(this.#row);
    this.#row = null;
  }
  handleEmptyQuery(): void {}
  handleCopyInResponse(connection: Connection): void {
    const wire = connection as unknown as { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void };
    wire.sendCopyFromChunk(Buffer.from(this.data));
    wire.endCopyFrom();
  }
  handleCopyData(): void {}
  /** After its error the client reports nothing more of a message. */
  handleError(error: ServerError): void {
    this.done({ firstRows: this.#rows, error });
  }
  handleReadyForQuery(): void {
    this.done({ firstRows: this.#rows, error: null });
  }
}
