import type { Run } from '../drivers/driver.js';
import type { WriteTarget } from '../drivers/engine.js';
import type { Session } from '../drivers/session.js';
import type { Failure } from './results.js';
import type { Direction, Migration, MigrationRepair } from './task.js';

/** The tracking table as it was found at the start of a run (MI-20). */
export interface TrackingTable {
  /** Quoted, with its schema, so that no setting of a migration leads to another one. */
  name: string;
  /** Whether it exists; what writes to it first makes it, in its own transaction where the database can do that. */
  there: boolean;
}

/** One migration that is to run; the run's `step` is its version. */
export interface OneMigration {
  direction: Direction;
  migration: Migration;
  table: TrackingTable;
}

/** How one migration failed, and the error that says whether the database can still be reached. */
export interface StepFailure {
  failure: Failure;
  error: unknown;
}

/**
 * What a kind of database provides, beyond its engine and its marker, so that migrations run there. Where nothing else is said a method
 * throws the server's error or that of the connection, and the run reports that nothing was started.
 */
export interface MigrationDialect<S extends Session> {
  /** Takes the lock that excludes all other migrations of the database, if it is free (MI-31); it may be held by this session already. */
  tryLock(session: S): Promise<boolean>;
  /** Begins a transaction that reads one state of the database and writes nothing (MI-41). */
  beginRead(session: S, timeoutSecs: number): Promise<unknown>;
  /** Finds the tracking table; throws a TableProblem when what has its name cannot be used, or it would have no place. */
  findTable(session: S): Promise<TrackingTable>;
  makeTable(session: S, table: TrackingTable): Promise<unknown>;
  /** The versions in a table that is there, in any order. */
  readVersions(session: S, table: TrackingTable): Promise<string[]>;
  /** Takes back what a migration left in the session, but for locks (MI-36). */
  forget(session: S): Promise<unknown>;
  /**
   * Runs one migration with its version row and its marker row (MI-37 to MI-39); null when it is done for certain. Never throws. Heeds the
   * run's cancel flag before every statement and before COMMIT, and while a statement runs that can be undone (MI-34).
   */
  runOne(session: S, run: Run, one: OneMigration): Promise<StepFailure | null>;
  /** Makes the version row be there or not, with the marker row, in one transaction (MI-42). Never throws. */
  repair(session: S, run: Run, table: TrackingTable, repair: MigrationRepair): Promise<{ changed: boolean } | StepFailure>;
}

/** Where migrations run. */
export interface MigrationTarget<S extends Session> extends WriteTarget<S> {
  migrations: MigrationDialect<S>;
  lockWaitMs: number;
}

/** Why the tracking table cannot be used, in words for people. */
export class TableProblem extends Error {}
