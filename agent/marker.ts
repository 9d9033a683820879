import { createHash } from 'node:crypto';
import { MARKER_SCHEMA, type ReservedNames } from '../sql/reserved-table.js';
import type { AgentConfig } from './config-values.js';

/** One attempt at a request, identified by its dispatch and its claim. */
export interface AttemptId {
  fence: number;
  executionId: string;
}

/** What a claim says about the attempts whose markers count (HD-41). */
export interface KnownAttempts extends AttemptId {
  approvalDigest: string;
  unresolvedFences: readonly number[];
  /** Null from a gateway that does not send them: then only the fence and the digest identify a row's attempt. */
  unresolvedExecutions: readonly AttemptId[] | null;
}

export interface MarkerRow extends AttemptId {
  /** The migration version that the row stands for; empty for the attempt as a whole. */
  step: string;
  mode: string;
  state: string;
  rowsAffected: number | null;
  approvalDigest: string;
}

/** Reads a row in the database's order: fence, mode, state, rows affected, step, execution id, approval digest. */
export function markerRow([fence, mode, state, affected, step, executionId, digest]: readonly (string | null)[]): MarkerRow {
  return {
    fence: Number(fence),
    step: step ?? '',
    mode: mode ?? '',
    state: state ?? '',
    rowsAffected: affected === null || affected === undefined || Number(affected) < 0 ? null : Number(affected),
    executionId: executionId ?? '',
    approvalDigest: digest ?? '',
  };
}

/**
 * Separates rows that prove something from rows that fit no attempt named by the claim: anybody who can write to the table could
 * have made those (HD-41).
 */
export function sortMarkers(rows: readonly MarkerRow[], known: KnownAttempts): { genuine: MarkerRow[]; strangers: MarkerRow[] } {
  const sorted = { genuine: [] as MarkerRow[], strangers: [] as MarkerRow[] };
  for (const row of rows) sorted[isGenuine(row, known) ? 'genuine' : 'strangers'].push(row);
  return sorted;
}

function isGenuine(row: MarkerRow, known: KnownAttempts): boolean {
  if (row.approvalDigest !== known.approvalDigest || !states.has(row.state) || !modes.has(row.mode)) return false;
  if (row.fence === known.fence) return row.executionId === known.executionId;
  if (known.unresolvedExecutions === null) return known.unresolvedFences.includes(row.fence);
  return known.unresolvedExecutions.some(({ fence, executionId }) => fence === row.fence && executionId === row.executionId);
}

const states = new Set(['open', 'done']);
const modes = new Set(['tx', 'auto']);

/** The newest later attempt in these rows; null if none. Only the gateway knows whether it exists. */
export function laterFence(strangers: readonly MarkerRow[], fence: number): number | null {
  const later = strangers.map((row) => row.fence).filter((other) => other > fence);
  return later.length === 0 ? null : Math.max(...later);
}

/** The request id, of no request, of the row that says since when a marker table has rows (AP-51). */
export const SINCE = '00000000-0000-0000-0000-000000000000';

/** For how many ms a marker table has had rows, and for how many agents of this version have written them; null where it has none. */
export interface TableAge {
  rows: number | null;
  ours: number | null;
}

/** Reads them in that order. */
export function tableAge(row: readonly (string | null)[] = []): TableAge {
  const [rows, ours] = row.map((ms) => (ms === null ? null : Number(ms)));
  return { rows: rows ?? null, ours: ours ?? null };
}

/** When the first lost attempts were claimed; null for none. */
export interface FirstLostAt {
  /** Of agents of this version, which wrote into the table of this one. */
  ours: number | null;
  /** Of agents of earlier versions, which wrote elsewhere, or there where `[marker] schema` names a table of theirs. */
  earlier: number | null;
}

/**
 * Whether rows that are not there prove that the attempts left none: a table that was dropped and made again, or emptied, does not have what they wrote.
 * `own` is of the table where this agent writes, `others` of those elsewhere (AP-54).
 */
export function proveAbsence([own, ...others]: readonly TableAge[], { ours, earlier }: FirstLostAt, now: number): boolean {
  const reaches = (ageMs: number | null | undefined, at: number) => ageMs != null && now - ageMs <= at;
  return (
    (ours === null || reaches(own?.ours, ours)) &&
    (earlier === null || [own, ...others].some((table) => reaches(table?.rows, earlier)))
  );
}

/** The most rows fitting no attempt to read and report. */
export const MAX_STRANGERS = 20;

/** Words for a missing table that the agent may create, when only looking (AP-52). */
export const MISSING_TABLE = 'the marker table does not exist; the agent makes it at its start';

export type MarkerDecision =
  | { act: 'run' }
  | { act: 'already_applied'; fence: number; rowsAffected: number | null }
  | { act: 'unknown'; fence: number };

/** What the genuine marker rows of a request allow its attempt `fence` to do, with the request lock held (AP-54). */
export function decideByMarkers(rows: readonly MarkerRow[], fence: number, unresolvedFences: readonly number[]): MarkerDecision {
  const done = rows.find(
    (row) => row.step === '' && row.state === 'done' && (row.fence === fence || unresolvedFences.includes(row.fence)),
  );
  if (done) return { act: 'already_applied', fence: done.fence, rowsAffected: done.rowsAffected };
  const open = rows.find((row) => row.state === 'open' && row.mode === 'auto' && unresolvedFences.includes(row.fence));
  return open ? { act: 'unknown', fence: open.fence } : { act: 'run' };
}

/** The names that no text may use: this agent's configuration may differ from what the server knows (HD-40). */
export function reservedNames({ marker }: Pick<AgentConfig, 'marker'>): Required<ReservedNames> {
  return { markerTable: marker.table, markerSchema: marker.schema ?? MARKER_SCHEMA };
}

/** The key of the request lock (AP-53). */
export function requestLockKey(requestId: string): bigint {
  return lockKey(`svc-request:${requestId}`);
}

/** The first 8 bytes of a name's SHA-256 as a signed 64-bit integer, the form of advisory lock keys. */
export function lockKey(name: string): bigint {
  return createHash('sha256').update(name).digest().readBigInt64BE(0);
}

/** The statement that creates the marker table (AP-50); `table` is a quoted name. */
export function postgresMarkerDdl(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  request_id text NOT NULL, fence bigint NOT NULL, step text NOT NULL DEFAULT '',
  mode text NOT NULL, state text NOT NULL,
  execution_id text NOT NULL, agent_id text NOT NULL, approval_digest text NOT NULL,
  rows_affected bigint, created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (request_id, fence, step, execution_id))`;
}

/** The same for MySQL and MariaDB. */
export function mysqlMarkerDdl(table: string): string {
  const id = 'VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL';
  const long = 'VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL';
  return `CREATE TABLE IF NOT EXISTS ${table} (
  request_id ${id}, fence BIGINT NOT NULL, step ${long} DEFAULT '',
  mode ${id}, state ${id},
  execution_id ${id}, agent_id ${long}, approval_digest ${id},
  rows_affected BIGINT, created_at DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  PRIMARY KEY (request_id, fence, step, execution_id)) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`;
}
