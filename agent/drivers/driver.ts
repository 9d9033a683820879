import type { SchemaSnapshot } from '../../domain/snapshot.js';
import type { Dialect, JudgedStatement, StatementFacts, TableName } from '../../domain/statement.js';
import type { CancelControl } from '../cancel-control.js';
import type { KnownAttempts, MarkerRow } from '../marker.js';
import type { MigrationTask } from '../migrations/task.js';
import type { Outcome } from '../outcome.js';

/** A job that was verified and judged; texts run byte for byte. */
export interface Run extends KnownAttempts {
  requestId: string;
  agentId: string;
  /** Whether marker rows are to be written. */
  marker: boolean;
  /** The `step` of the marker rows: the version while a migration runs, else empty. */
  step: string;
  statements: readonly JudgedStatement[];
  /** Tables that the text names as written; empty for a migration. */
  changed: readonly TableName[];
  /** Rows that it may change (HD-25); null is no limit. */
  maxAffectedRows: number | null;
  /** The schemas by which names were resolved for who approved (HD-31); null where that is not known. */
  searchPath: readonly string[] | null;
  /** Seconds per statement; 0 is no limit. */
  timeoutSecs: number;
  limits: { maxRows: number; maxResultBytes: number; maxRowBytes: number };
  fenceWaitMs: number;
  control: CancelControl;
  /** Marker rows that fit no known attempt, for the result; at most MAX_STRANGERS. */
  strangers: MarkerRow[];
  /** Whether the gateway has no later attempt than this one; false also when it does not answer. */
  isNewest(): Promise<boolean>;
  /** Whether the token still allows a start (ET-40). */
  mayStart(): boolean;
}

export interface Connected {
  markerReady: boolean;
  /** What is missing for markers, without names of hosts or credentials. */
  markerProblem: string | null;
  /** What makes the role for reads more than that, where only its rights keep a read from writing; null if nothing does. */
  readProblem: string | null;
  /** What names may mean something else than before, because a setting of role or database has no effect (HD-30); null if nothing is. */
  nameProblem: string | null;
  /** Why markers lie beside the data instead of a schema or database of their own (HD-40); null if they do not. */
  markerNote: string | null;
}

/** One statement to be planned (AP-60). */
export interface ExplainRun {
  sql: string;
  /** Whether the statement only reads. */
  read: boolean;
  facts: StatementFacts;
  timeoutMs: number;
  signal: AbortSignal;
}

/** One target database. Runs never throw: what went wrong is in their outcome. */
export interface Driver {
  readonly dialect: Dialect;
  /** Connects with every role, and prepares the marker table unless only looking; throws a ConnectFailure. */
  connect(options: { onlyLook: boolean }): Promise<Connected>;
  select(run: Run): Promise<RunReport>;
  dml(run: Run): Promise<RunReport>;
  migrate(run: Run, task: MigrationTask): Promise<RunReport>;
  /** Plans a statement without running it, if it can be planned without reading (HD-1); never throws. */
  explain(run: ExplainRun): Promise<ExplainReport>;
  /**
   * What the tables look like now; takes at most `timeoutMs`. Throws a ConnectFailure or the database's error, NoSnapshot, or Interrupted when
   * the signal aborts.
   */
  snapshot(timeoutMs: number, signal: AbortSignal): Promise<SchemaSnapshot>;
  /** Text of section 11 for an error that this driver threw. */
  errorText(error: unknown): string;
  /** Deletes old marker rows (AP-56); returns how many. */
  deleteOldMarkers(): Promise<number>;
  close(): Promise<void>;
}

export interface ExplainReport {
  /** The plan as JSON text, or why there is none, in words that people may see (HD-2). */
  explained: { plan: string } | { error: string };
  /** The database's own words, where they are not shown. */
  hidden: string | null;
  /** As in a run's report. */
  connectivity: boolean;
}

export interface RunReport {
  outcome: Outcome;
  /** True when the run failed because the database could not be reached (AP-15). */
  connectivity: boolean;
  /** Settles when the connection was reset or closed; not needed for the result. */
  released: Promise<void>;
}

/** The database was not reached: `authentication` when it refused the credentials. The message holds no host and no credential. */
export class ConnectFailure extends Error {
  readonly kind: 'connection' | 'authentication';

  constructor(kind: 'connection' | 'authentication', message: string) {
    super(message);
    this.kind = kind;
  }
}
