import type pg from 'pg';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { nothingOutgoing, type OutgoingOf } from '../domain/notifications/outgoing.js';
import type { Recorder, Transaction } from './client.js';
import { isRetryable, isUnavailable, isUnreachable, sqlState } from './errors.js';
import { run } from './prepared.js';
import { beginNamed, hasCommitted, type TransactionName } from './transaction-name.js';

export interface WriteOptions {
  /** Required to move requests. */
  macs?: ApprovalMacs;
  /** What recorded events send out; nothing if absent. */
  outgoingOf?: OutgoingOf;
  /** Called after each commit that has topics to notify. */
  onWake?: (topics: string[]) => void;
}

/** Runs work on a connection, within the time that its call has left. */
export type Limited = <R>(work: (client: pg.PoolClient) => Promise<R>) => Promise<R>;

interface OpenTransaction {
  /** Null until COMMIT is sent. */
  name: TransactionName | null;
  result: unknown;
}

const maxAttempts = 5;

export async function transaction<T>(
  limited: Limited,
  work: (tx: Transaction) => Promise<T>,
  { onWake, macs, outgoingOf = noneOutgoing }: WriteOptions,
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
      if (attempt >= maxAttempts || !isRetryable(error)) throw error;
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
  const { noted, causeOf } = createFirstFailure();
  const begun = quiet(noted(beginNamed(client)));
  const sent: Promise<unknown>[] = [];
  const tx = {
    query: async (text: string, values?: readonly unknown[]) => {
      // Only reads may be sent right behind a BEGIN that could still fail.
      if (!text.startsWith('select')) await begun;
      return noted(run(client, text, values));
    },
    send: (text: string, values?: readonly unknown[]) => {
      sent.push(quiet(begun.then(() => noted(run(client, text, values)))));
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
    const cause = causeOf(error);
    if (!isUnreachable(cause)) await client.query('rollback');
    throw cause;
  }
  // After a failed write, Postgres treats COMMIT as ROLLBACK.
  const ended = await Promise.allSettled([...sent, client.query('commit')]);
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return open.result as T;
}

/** With it those statements fail that follow a failed one. */
const abortedState = '25P02';

/** Of statements that are sent together, the first that fails is the cause, whichever failure is heard first. */
function createFirstFailure() {
  let first: unknown;
  return {
    noted: <T>(result: Promise<T>): Promise<T> =>
      result.catch((error: unknown) => {
        first ??= error;
        throw error;
      }),
    causeOf: (error: unknown): unknown => (sqlState(error) === abortedState ? first : error),
  };
}

/** Keeps a failure from being reported as unhandled before the promise is awaited. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

export const noneOutgoing: OutgoingOf = () => nothingOutgoing;

export function present(macs: ApprovalMacs | undefined): ApprovalMacs {
  if (macs === undefined) throw new Error('the database was opened without the secret key');
  return macs;
}
