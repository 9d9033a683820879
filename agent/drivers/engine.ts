import type { MarkerRow, TableAge } from '../marker.js';
import type { Outcome } from '../outcome.js';
import type { Timings } from '../timings.js';
import type { Run } from './driver.js';
import type { Session, SessionPool } from './session.js';

/** What runs need from a kind of database. */
export interface Engine<S extends Session> {
  errors: ErrorReader;
  /** Cancels the session's statement immediately, where that needs no second session. */
  interrupt?(session: S, timings: Timings): void;
  /** Cancels another session's statement; `hard` ends that session. */
  kill(admin: S, session: S, hard: boolean): Promise<unknown>;
  /** Whether the server has ended the other session, and thereby its transaction. */
  isGone(admin: S, session: S): Promise<boolean>;
  /** ROLLBACK; tells whether everything was undone or some tables kept their changes. */
  rollBack(session: S): Promise<'undone' | 'kept'>;
  /** Takes the request lock if it is free; the lock lasts until the session is reset (AP-53). */
  tryRequestLock(session: S, requestId: string): Promise<boolean>;
  /** Whether `other` shows all that `session` has committed: a standby or a replica may still receive it (AP-37). */
  showsCommitsOf(other: S, session: S): Promise<boolean>;
}

export interface ErrorReader {
  /** The text of agent-process.md section 11. */
  errorText(error: unknown): string;
  /** The same without the error class. */
  reason(error: unknown): string;
  /** Whether the server reported the error for a statement, on a connection that still works. */
  isServerError(error: unknown): boolean;
  /** Whether the error's class means that the database is unreachable (AP-15). */
  isConnectivityError(error: unknown): boolean;
  /** Whether the server says that it interrupted the statement. */
  isInterrupt(error: unknown): boolean;
  /** Whether the server's own timeout caused the error, with no cancel of ours; `elapsedMs` counts from the start of the run. */
  isTimeout(error: unknown, run: Run, elapsedMs: number): boolean;
}

/** The statements on one database's marker table (AP-50). */
export interface Marker<S extends Session> {
  /**
   * `problem` is null when rows can be written and read; else it says what is missing. Leaves nothing behind except, unless
   * `onlyLook`, the table.
   */
  prepare(session: S, onlyLook: boolean): Promise<{ problem: string | null; note: string | null }>;
  /** The rows of the run's known attempts, and some others; includes rows that an older agent version left elsewhere. */
  read(session: S, run: Run): Promise<MarkerRow[]>;
  /** Reads those of them where this agent writes now: another look may find that it is to write elsewhere. */
  ownReader(): (session: S, run: Run) => Promise<MarkerRow[]>;
  /** Of the table where this agent writes, then of those elsewhere. */
  ages(session: S): Promise<TableAge[]>;
  /** A table that this agent may not read, where an unresolved attempt may have written its marker; null if there is none. */
  hidden(session: S, run: Run): Promise<string | null>;
  open(session: S, run: Run, mode: 'tx' | 'auto'): Promise<unknown>;
  /** Deletes rows older than `days`; returns how many. */
  deleteOld(session: S, days: number): Promise<number>;
}

export interface Target<S extends Session> {
  pool: SessionPool<S>;
  timings: Timings;
  engine: Engine<S>;
  /** How much later than the statement timeout the client's own deadline is. */
  graceMs: number;
}

export interface WriteTarget<S extends Session, M extends Marker<S> = Marker<S>> extends Target<S> {
  marker: M;
}

/** A job at work: the session that it holds, what it runs, and the database that it runs on. */
export interface Attempt<S extends Session, T extends Target<S> = Target<S>> {
  session: S;
  run: Run;
  target: T;
}

export type WritingAttempt<S extends Session> = Attempt<S, WriteTarget<S>>;

export interface Report {
  outcome: Outcome;
  /** Null when the run went well. */
  error: unknown;
}
