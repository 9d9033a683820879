import type pg from 'pg';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { GatewayError } from '../domain/errors.js';
import { nothingOutgoing, type OutgoingOf } from '../domain/notifications/outgoing.js';
import { databaseWithin, remainingMs } from './call-limit.js';
import { isUnreachable, sqlState } from './errors.js';
import { openPool, type PoolOptions } from './pool.js';
import { beginNamed, hasCommitted, hasWritten, type TransactionName } from './transaction-name.js';

/** Callers declare the row type with each query. Instants are milliseconds since the epoch. */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

declare const writes: unique symbol;

/** Can also verify that rows were written by a process with the secret key (HD-50). */
export interface Vouched extends Queryable {
  readonly macs: ApprovalMacs;
}

/** Knows what has to be written beside each change of a request. */
export interface Recorder {
  readonly macs: ApprovalMacs;
  readonly outgoingOf: OutgoingOf;
}

/** Writes require this type, so that a write on a bare pool does not compile. */
export interface Transaction extends Vouched, Recorder {
  readonly [writes]: true;
  /** Sends a write whose rows nobody needs. It shares a round trip with what follows, and the commit waits for it. */
  send(text: string, values?: readonly unknown[]): void;
  /** Topics to notify after the commit (`db/notifications.ts`). */
  wake(...topics: string[]): void;
}

/** A writing statement that commits by itself. It answers in `done` whether it found what it needs, 1 or 0; with 0 it has written nothing. */
export interface SingleWrite {
  text: string;
  values: readonly unknown[];
  /** Topics to notify after the commit. */
  topics: readonly string[];
  /** An audit event that the statement writes: after a lost answer it proves the commit. */
  eventId: string;
}

export interface Database extends Vouched, Recorder {
  /** Runs `work` on one connection. Reads that do not wait for each other share a round trip. */
  together<T>(work: (db: Vouched) => Promise<T>): Promise<T>;
  /** Whether the statement wrote. False also after a deadlock or serialisation failure; an unreachable server is 503. */
  writeOnce(write: SingleWrite): Promise<boolean>;
  /** Runs `work` in one transaction. Repeats it after a deadlock or serialisation failure; an unreachable server is 503. */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions extends PoolOptions {
  /** Limits the database work of one call, including the wait for a connection (OP-70). */
  callTimeoutMs?: number;
  /** Required to move requests. */
  macs?: ApprovalMacs;
  /** What recorded events send out; nothing if absent. */
  outgoingOf?: OutgoingOf;
  /** Called after each commit that has topics to notify. */
  onWake?: (topics: string[]) => void;
}

const retryable = new Set(['40001', '40P01']);
const maxAttempts = 5;

/** Connects on first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const callTimeoutMs = options.callTimeoutMs ?? 4000;
  const limited = <T>(work: (client: pg.PoolClient) => Promise<T>) => withClient(pool, remainingMs(callTimeoutMs), work);
  return {
    pool,
    get macs() {
      return present(options.macs);
    },
    outgoingOf: options.outgoingOf ?? noneOutgoing,
    query: (text, values) => limited((client) => run(client, text, values)),
    together: (work) => limited((client) => work(vouched(client, options.macs))),
    writeOnce: (write) => writeOnce(limited, write, options),
    transaction: (work) => transaction(limited, work, options),
    close: () => pool.end(),
  };
}

function vouched(client: pg.ClientBase, macs: ApprovalMacs | undefined): Vouched {
  return {
    query: (text, values) => run(client, text, values),
    get macs() {
      return present(macs);
    },
  };
}

const noneOutgoing: OutgoingOf = () => nothingOutgoing;

function present(macs: ApprovalMacs | undefined): ApprovalMacs {
  if (macs === undefined) throw new Error('the database was opened without the secret key');
  return macs;
}

async function withClient<T>(pool: pg.Pool, limitMs: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const deadline = performance.now() + limitMs;
  let client: pg.PoolClient;
  try {
    client = await databaseWithin(pool.connect(), limitMs, (late) => late.release());
  } catch (error) {
    throw unavailableIf(error);
  }
  try {
    const result = await databaseWithin(work(client), Math.max(1, deadline - performance.now()));
    client.release();
    return result;
  } catch (error) {
    // A timed-out or broken connection never goes to the next caller.
    client.release(isUnreachable(error));
    throw unavailableIf(error);
  }
}

function unavailableIf(error: unknown): unknown {
  return isUnreachable(error)
    ? new GatewayError('service.unavailable', 'the gateway database is not reachable', null, { cause: error })
    : error;
}

const isUnavailable = (error: unknown): boolean => error instanceof GatewayError && error.code === 'service.unavailable';

type Limited = <R>(work: (client: pg.PoolClient) => Promise<R>) => Promise<R>;

interface OpenTransaction {
  /** Null until COMMIT is sent. */
  name: TransactionName | null;
  result: unknown;
}

async function writeOnce(
  limited: Limited,
  { text, values, topics, eventId }: SingleWrite,
  options: DatabaseOptions,
): Promise<boolean> {
  const write = (client: pg.PoolClient) => run<{ done: number }>(client, text, values);
  const done = await limited(write).then(
    ([row]) => row?.done === 1,
    async (error: unknown) => {
      if (retryable.has(sqlState(error) ?? '')) return false;
      if (!isUnavailable(error)) throw error;
      // The answer may be lost although the statement has committed.
      if (!(await limited((client) => hasWritten(client, eventId)))) throw error;
      return true;
    },
  );
  if (done && topics.length > 0) options.onWake?.([...topics]);
  return done;
}

async function transaction<T>(
  limited: Limited,
  work: (tx: Transaction) => Promise<T>,
  { onWake, macs, outgoingOf = noneOutgoing }: DatabaseOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const topics = new Set<string>();
      const open: OpenTransaction = { name: null, result: undefined };
      const result = await limited((client) => attemptTransaction(client, work, { topics, open, macs, outgoingOf })).catch(
        async (error: unknown) => {
          const { name } = open;
          // The answer to COMMIT was lost. A new connection asks whether the transaction committed; if that is unknown too, the answer is
          // 503.
          if (name === null || !isUnavailable(error) || !(await limited((client) => hasCommitted(client, name)))) throw error;
          return open.result as T;
        },
      );
      if (topics.size > 0) onWake?.([...topics]);
      return result;
    } catch (error) {
      if (attempt >= maxAttempts || !retryable.has(sqlState(error) ?? '')) throw error;
    }
  }
}

interface Surroundings extends Pick<Recorder, 'outgoingOf'> {
  topics: Set<string>;
  open: OpenTransaction;
  macs: ApprovalMacs | undefined;
}

async function attemptTransaction<T>(
  client: pg.PoolClient,
  work: (tx: Transaction) => Promise<T>,
  { topics, open, macs, outgoingOf }: Surroundings,
): Promise<T> {
  const begun = quiet(beginNamed(client));
  const sent: Promise<unknown>[] = [];
  const tx = {
    query: async (text: string, values?: readonly unknown[]) => {
      // Only reads may be sent right behind a BEGIN that could still fail.
      if (!text.startsWith('select')) await begun;
      return run(client, text, values);
    },
    send: (text: string, values?: readonly unknown[]) => {
      sent.push(quiet(begun.then(() => run(client, text, values))));
    },
    wake: (...names: string[]) => {
      for (const name of names) topics.add(name);
    },
    get macs() {
      return present(macs);
    },
    outgoingOf,
  };
  try {
    open.result = await work(tx as unknown as Transaction);
    open.name = await begun;
  } catch (error) {
    if (!isUnreachable(error)) await client.query('rollback');
    throw error;
  }
  // After a failed write, Postgres treats COMMIT as ROLLBACK.
  const ended = await Promise.allSettled([...sent, client.query('commit')]);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return open.result as T;
}

/** Keeps a failure from being reported as unhandled before the promise is awaited. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

const statementNames = new Map<string, string>();
// Our texts are few and fixed. The bound keeps a text built from input from filling the server's memory.
const maxPrepared = 400;

async function run<Row extends object>(client: pg.ClientBase, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < maxPrepared) {
    name = `s${statementNames.size + 1}`;
    statementNames.set(text, name);
  }
  const result = await client.query<Row>({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  return result.rows;
}
