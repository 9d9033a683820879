import type { SchemaSnapshot } from '../../domain/snapshot.js';
import type { ClassifiedStatement, Dialect, StatementFacts, TableName } from '../../domain/statement.js';
import type { CancelControl } from '../cancel-control.js';
import type { FirstLostAt, KnownAttempts, MarkerRow } from '../marker.js';
import type { MigrationTask } from '../migrations/task.js';
import type { Outcome } from '../outcome.js';

/** A verified and classified job; its texts run byte for byte. */
export interface Run extends KnownAttempts {
  requestId: string;
  agentId: string;
  /** Whether to write marker rows. */
  marker: boolean;
  /** The `step` of the marker rows: the version during a migration, else empty. */
  step: string;
  statements: readonly ClassifiedStatement[];
  /** Tables as named in the text; empty for a migration. */
  changed: readonly TableName[];
  /** Rows that the job may change (HD-25); null = no limit. */
  maxAffectedRows: number | null;
  /** The schemas that resolved names for the approver (HD-31); null when unknown. */
  searchPath: readonly string[] | null;
  /** Seconds per statement; 0 = no limit. */
  timeoutSecs: number;
  limits: { maxRows: number; maxResultBytes: number; maxRowBytes: number };
  fenceWaitMs: number;
  control: CancelControl;
  /** Marker rows that fit no known attempt, for the result; at most MAX_STRANGERS. */
  strangers: MarkerRow[];
  /** Whether the gateway knows no later attempt; false also when it does not answer. */
  isNewest(): Promise<boolean>;
  /** By `performance.now()`; null when unknown. */
  firstLostAt: FirstLostAt | null;
  /** Whether another agent may have made one of the unresolved attempts. */
  lostByOthers: boolean;
  /** Whether the token and the lease still allow a start (ET-40, AG-40a). */
  mayStart(): boolean;
}

export interface Connected {
  markerReady: boolean;
  /** What markers lack, without host names or credentials. */
  markerProblem: string | null;
  /** Why the read role can write, when only its privileges keep a read from writing; null when it cannot. */
  readProblem: string | null;
  /** What names may mean something else because a setting of the role or database is ignored (HD-30); null when nothing is. */
  nameProblem: string | null;
  /** Why markers share a schema or database with the data instead of having their own (HD-40); null when they do not. */
  markerNote: string | null;
}

/** One statement to plan (AP-60). */
export interface ExplainRun {
  sql: string;
  read: boolean;
  facts: StatementFacts;
  timeoutMs: number;
  signal: AbortSignal;
}

/** One target database. Runs never throw: their outcome tells what went wrong. */
export interface Driver {
  readonly dialect: Dialect;
  /** Connects with every role, and prepares the marker table unless `onlyLook`; throws a ConnectFailure. */
  connect(options: { onlyLook: boolean }): Promise<Connected>;
  /** What the role of reads may change, in words, or null; asked on a connection of its own. Throws as `connect` does. */
  readRoleRights(): Promise<string | null>;
  select(run: Run): Promise<RunReport>;
  dml(run: Run): Promise<RunReport>;
  migrate(run: Run, task: MigrationTask): Promise<RunReport>;
  /** Plans a statement without running it, when planning reads no rows (HD-1); never throws. */
  explain(run: ExplainRun): Promise<ExplainReport>;
  /**
   * The current tables; takes at most `timeoutMs`. Throws a ConnectFailure, the database's error, NoSnapshot, or Interrupted when
   * the signal aborts.
   */
  snapshot(timeoutMs: number, signal: AbortSignal): Promise<SchemaSnapshot>;
  /** The text of agent-process.md section 11 for an error that this driver threw. */
  errorText(error: unknown): string;
  /** Deletes old marker rows (AP-56); returns how many. */
  deleteOldMarkers(): Promise<number>;
  close(): Promise<void>;
}

export interface ExplainReport {
  /** The plan as JSON text, or why there is none, in words safe to show (HD-2). */
  explained: { plan: string } | { error: string };
  /** The database's own words when they are not shown. */
  hidden: string | null;
  /** As in a run's report. */
  connectivity: boolean;
}

export interface RunReport {
  outcome: Outcome;
  /** True when the run failed because the database was unreachable (AP-15). */
  connectivity: boolean;
  /** Settles when the connection was reset or closed; the result does not depend on it. */
  released: Promise<void>;
}

/**
 * The database was not reached; `authentication` when it refused the credentials. The message holds no host and no credentials.
 */
export class ConnectFailure extends Error {
  readonly kind: 'connection' | 'authentication';

  constructor(kind: 'connection' | 'authentication', message: string) {
    super(message);
    this.kind = kind;
  }
}
