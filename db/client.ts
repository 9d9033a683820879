import type pg from 'pg';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { OutgoingOf } from '../domain/notifications/outgoing.js';

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
