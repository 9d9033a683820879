import type { MarkerRow } from '../marker.js';
import type { Outcome } from '../outcome.js';
import type { Timings } from '../timings.js';
import type { Run } from './driver.js';
import type { Session, SessionPool } from './session.js';

/** What the runs need to know of a kind of database. */
export interface Engine<S extends Session> {
  errors: ErrorReader;
  /** Cancels what the session runs at once, where that needs no session. */
  interrupt?(session: S, timings: Timings): void;
  /** Cancels what another session runs; `hard` ends that session. */
  kill(admin: S, session: S, hard: boolean): Promise<unknown>;
  /** Whether the server has ended the other session, and with it its transaction. */
  isGone(admin: S, session: S): Promise<boolean>;
  /** ROLLBACK; tells whether all was undone, or some tables kept their changes. */
  rollBack(session: S): Promise<'undone' | 'kept'>;
  /** Takes the request lock if it is free; it lasts until the session is reset (AP-53). */
  tryRequestLock(session: S, requestId: string): Promise<boolean>;
}

export interface ErrorReader {
  /** Text of section 11. */
  errorText(error: unknown): string;
  /** The same without its class. */
  reason(error: unknown): string;
  /** Whether the server reported it for a statement, on a connection that goes on. */
  isServerError(error: unknown): boolean;
  /** Whether the class of the error says that the database cannot be reached (AP-15). */
  isConnectivityError(error: unknown): boolean;
  /** Whether the server says that the statement was stopped. */
  isInterrupt(error: unknown): boolean;
  /** Whether that was the server's own timeout, when nobody here asked for it; `elapsedMs` since the run began. */
  isTimeout(error: unknown, run: Run, elapsedMs: number): boolean;
}

/** The statements on the marker table of one database (section 6). */
export interface Marker<S extends Session> {
  /** `problem` is null when rows can be written and read; else what is missing. Nothing stays but, unless `onlyLook`, the table. */
  prepare(session: S, onlyLook: boolean): Promise<{ problem: string | null; note: string | null }>;
  /** The rows of the run's known attempts, and some of the others; also those that an agent of an earlier version has left elsewhere. */
  read(session: S, run: Run): Promise<MarkerRow[]>;
  /** Writes the `open` row of an attempt. */
  open(session: S, run: Run, mode: 'tx' | 'auto'): Promise<unknown>;
  /** Deletes the rows that are older; returns how many. */
  deleteOld(session: S, days: number): Promise<number>;
}

/** Where a run takes place. */
export interface Target<S extends Session> {
  pool: SessionPool<S>;
  timings: Timings;
  engine: Engine<S>;
  /** How far the client's own deadline lies behind the statement timeout. */
  graceMs: number;
}

export interface WriteTarget<S extends Session, M extends Marker<S> = Marker<S>> extends Target<S> {
  marker: M;
}

export interface Report {
  outcome: Outcome;
  /** What went wrong, if anything did. */
  error: unknown;
}
