import type { Run } from '../drivers/driver.js';
import type { Attempt, WriteTarget } from '../drivers/engine.js';
import type { Session } from '../drivers/session.js';
import type { Failure } from './results.js';
import type { Direction, Migration, MigrationRepair } from './task.js';

/** The tracking table as found at the start of a run (MI-20). */
export interface TrackingTable {
  /** Quoted, with its schema, so that no setting of a migration leads to another table. */
  name: string;
  /** Whether it exists; the first write creates it, in the same transaction where the database can do that. */
  there: boolean;
}

/** One migration to run; the run's `step` is its version. */
export interface OneMigration {
  direction: Direction;
  migration: Migration;
  table: TrackingTable;
}

/** How one migration failed, and the error that tells whether the database is still reachable. */
export interface StepFailure {
  failure: Failure;
  error: unknown;
}

/**
 * What migrations need from a kind of database beyond its engine and its marker. Unless noted, a method throws the server's or
 * the connection's error, and the run reports that nothing was started.
 */
export interface MigrationEngine<S extends Session> {
  /**
   * Takes the lock that excludes all other migrations of the database, if it is free (MI-31); this session may hold it already.
   */
  tryLock(session: S): Promise<boolean>;
  /** Begins a read-only transaction that sees one state of the database (MI-41). */
  beginRead(session: S, timeoutSecs: number): Promise<unknown>;
  /** Finds the tracking table; throws a TableProblem when an unusable object has its name, or no schema can hold it. */
  findTable(session: S): Promise<TrackingTable>;
  makeTable(session: S, table: TrackingTable): Promise<unknown>;
  /** The versions in an existing table, in any order. */
  readVersions(session: S, table: TrackingTable): Promise<string[]>;
  /** Undoes what a migration left in the session, except locks (MI-36). Throws if it has released one of those. */
  forget(session: S, run: Run): Promise<unknown>;
  /**
   * Runs one migration with its version row and its marker row (MI-37 to MI-39); null when it certainly succeeded. Never throws.
   * Checks the run's cancel flag before every statement and before COMMIT, and while an undoable statement runs (MI-34).
   */
  runOne(session: S, run: Run, one: OneMigration): Promise<StepFailure | null>;
  /** Adds or removes the version row, with the marker row, in one transaction (MI-42). Never throws. */
  repair(session: S, run: Run, table: TrackingTable, repair: MigrationRepair): Promise<{ changed: boolean } | StepFailure>;
}

export interface MigrationTarget<S extends Session> extends WriteTarget<S> {
  migrations: MigrationEngine<S>;
  lockWaitMs: number;
}

export type MigrationAttempt<S extends Session> = Attempt<S, MigrationTarget<S>>;

/** Why the tracking table cannot be used, in words for people. */
export class TableProblem extends Error {}

/**
 * The problem of a table that another tool keeps in its own way: one without a row per version, or whose rows need values that only
 * that tool knows. golang-migrate's has one row, of the current version, and the column `dirty`.
 */
export const otherToolsTable = (name: string, column: string): TableProblem =>
  new TableProblem(`the table ${name} belongs to another tool: the agent has no value for its column ${column}`);

/** The problem of a version row that does not hold the version's text. */
export const KEPT_OTHERWISE = 'the tracking table keeps the version as something else; its column must be of text';
