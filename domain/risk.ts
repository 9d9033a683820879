import { indexCascades } from './cascade.js';
import { fixedTables } from './fixed-rows.js';
import type { AutoApproveRule, Operation, ReviewRule } from './policies.js';
import { findReach, shadowsIn } from './reach.js';
import {
  indexTables,
  type SchemaSnapshot,
  type SnapshotTable,
  shownName,
  type TableLookup,
  type WrittenName,
} from './snapshot.js';
import type { StatementFacts } from './statement.js';
import { findUnresolved, isUnnamed } from './unresolved.js';
import { DEFAULT_SNAPSHOT_AGE_SECS, type RiskLevel } from './workflow-policy.js';

/** SQ-93, as clients see them. */
export type RiskFactor =
  | {
      name:
        | 'read_only'
        | 'safe_ddl'
        | 'schema_not_synced'
        | 'schema_stale'
        | 'schema_incomplete'
        | 'ddl'
        | 'multi_statement'
        | 'drop_operation';
    }
  | { name: 'table_unresolved' | 'never_analysed' | 'triggers'; tables: string[] }
  | { name: 'unlisted_function'; names: string[] }
  | { name: 'many_warnings'; count: number }
  | { name: 'cascade_delete'; targets: string[] }
  | { name: 'large_table'; rows: number };

export interface Risk {
  level: RiskLevel;
  factors: RiskFactor[];
  /** Whether there was a good snapshot; `unavailable` for migrations (RQ-44). */
  schemaStatus: 'ready' | 'stale' | 'not_synced' | 'unavailable';
}

export interface RiskInput {
  operation: Operation;
  /** One per statement, settings included. */
  facts: readonly StatementFacts[];
  /** Includes lifted blocks (SQ-95). */
  findings: readonly { readonly code: ReviewRule }[];
  /** The rule of the matched workflow; null when it has none or no workflow matches. */
  autoApprove: Pick<AutoApproveRule, 'allowReadOnly' | 'allowSafeDdl' | 'maxEstimatedRows' | 'maxSnapshotAgeSecs'> | null;
  /** The newest good snapshot. */
  snapshot: SchemaSnapshot | null;
  /** Time since the gateway received it, by the clock of its database; negative if that clock was set back. */
  snapshotAgeMs: number;
}

/** The risk of a text by SQ-83 to SQ-92; always `unavailable` for a migration. */
export function assessRisk(input: RiskInput): Risk {
  const { operation, findings, autoApprove, snapshot } = input;
  const facts = operation === 'execute_dml' ? input.facts.map(asRun) : input.facts;
  if (operation !== 'execute_select' && operation !== 'execute_dml')
    return { level: 'unavailable', factors: [], schemaStatus: 'unavailable' };
  const stale = snapshot !== null && isStale(input);
  const schemaStatus = snapshot === null ? 'not_synced' : stale ? 'stale' : 'ready';
  const end = (level: RiskLevel, factor: RiskFactor): Risk => ({ level, factors: [factor], schemaStatus });
  if (operation === 'execute_select' && autoApprove?.allowReadOnly === true) return end('low', { name: 'read_only' });
  if (autoApprove?.allowSafeDdl === true && isSafeDdl(facts, findings) && !mayRunUserCode(facts, snapshot))
    return end('low', { name: 'safe_ddl' });
  if (snapshot === null) return end('unknown', { name: 'schema_not_synced' });
  if (stale) return end('unknown', { name: 'schema_stale' });
  const lookup = indexTables(snapshot, operation);
  const unresolved = findUnresolved(facts, lookup);
  const reach = findReach(facts, snapshot, lookup);
  const calls = operation === 'execute_dml' && reach.unlisted.length > 0;
  // When only a call hides what is written, the factor about that call says so.
  if (unresolved.length > 0 && !(calls && isUnnamed(unresolved))) return { level: 'unknown', factors: unresolved, schemaStatus };
  if (calls) return end('unknown', { name: 'unlisted_function', names: reach.unlisted });
  if (reach.isIncomplete) return end('unknown', { name: 'schema_incomplete' });
  const raises = listRaises(input, snapshot, lookup);
  const tables = reach.triggered.map(({ schema_name, name }) => shownName(schema_name, name));
  if (tables.length > 0) raises.push({ level: 'medium', factor: { name: 'triggers', tables } });
  const level = levels[Math.max(0, ...raises.map((raise) => levels.indexOf(raise.level)))] ?? 'unknown';
  return { level, factors: raises.flatMap(({ factor }) => factor ?? []), schemaStatus };
}

/** A query that is no read, as by FOR UPDATE, runs where its views and casts may write: it counts as a change of rows (HD-21). */
function asRun(one: StatementFacts): StatementFacts {
  const isQuery = !one.ddl && one.changed.length === 0 && one.named.length > 0;
  return isQuery ? { ...one, changesRows: true } : one;
}

/** SQ-85a. A snapshot received in the future has no known age and counts as stale. */
function isStale({ autoApprove, snapshotAgeMs }: RiskInput): boolean {
  const limitSecs = autoApprove?.maxSnapshotAgeSecs ?? DEFAULT_SNAPSHOT_AGE_SECS;
  return !(snapshotAgeMs >= -clockToleranceMs && snapshotAgeMs <= limitSecs * 1000);
}

const clockToleranceMs = 60_000;

/** SQ-82: a single statement of a safe form, without findings, that calls only built-ins. */
export function isSafeDdl(facts: readonly StatementFacts[], findings: readonly unknown[]): boolean {
  const [only] = facts;
  return facts.length === 1 && findings.length === 0 && only?.safeForm === true && !only.listedCall && only.unlisted.length === 0;
}

/** A new column or index may call user code in place of a built-in, once per row (HD-21). */
function mayRunUserCode(facts: readonly StatementFacts[], snapshot: SchemaSnapshot | null): boolean {
  const made = snapshot?.user_code ?? null;
  return facts.some((one) => {
    const calls = one.changed.length > 0 && one.uses.functions.length + one.uses.operators.length > 0;
    return calls && (made === null || shadowsIn(one, made).length > 0);
  });
}

interface Raise {
  level: 'medium' | 'high';
  factor: RiskFactor | null;
}

/** The steps of SQ-84a and SQ-87 to SQ-91 that apply. */
function listRaises(
  { operation, facts, findings, autoApprove }: RiskInput,
  snapshot: SchemaSnapshot,
  lookup: TableLookup,
): Raise[] {
  const limit = autoApprove?.maxEstimatedRows ?? defaultMaxRows;
  const raises: Raise[] = [];
  if (facts.some(({ ddl }) => ddl)) raises.push({ level: 'medium', factor: { name: 'ddl' } });
  if (facts.length > 1 && operation !== 'execute_select') raises.push({ level: 'high', factor: { name: 'multi_statement' } });
  if (findings.length >= 3) raises.push({ level: 'high', factor: { name: 'many_warnings', count: findings.length } });
  else if (findings.length > 0) raises.push({ level: 'medium', factor: null });
  if (findings.some(({ code }) => drops.has(code))) raises.push({ level: 'high', factor: { name: 'drop_operation' } });
  const meant = (namesOf: (one: StatementFacts) => readonly WrittenName[]) => meantBy(facts.flatMap(namesOf), lookup);
  const fixed = fixedTables(facts, lookup);
  const deletedFrom = meant((one) => one.deletedFrom);
  raises.push(...cascadeRaise(deletedFrom, snapshot, (table) => !fixed.has(table) && table.estimated_rows > limit, limit));
  const counted = meant((one) => one.named).filter((table) => !fixed.has(table));
  const rows = counted.reduce((most, table) => Math.max(most, table.estimated_rows), 0);
  if (rows > limit) raises.push({ level: 'medium', factor: { name: 'large_table', rows } });
  return raises;
}

/** SQ-90: the factor names the tables that lose rows together with those of the text. A child that was never analysed counts as large. */
function cascadeRaise(
  tables: readonly SnapshotTable[],
  snapshot: SchemaSnapshot,
  isLargeItself: (table: SnapshotTable) => boolean,
  limit: number,
): Raise[] {
  if (tables.length === 0) return [];
  const cascadeOf = indexCascades(snapshot);
  const lost = new Set<SnapshotTable>();
  let isLarge = false;
  for (const table of tables) {
    const { children, truncated } = cascadeOf(table);
    if (children.length === 0) continue;
    for (const child of children) lost.add(child.table);
    const counts = children.map((child) => child.table.estimated_rows);
    isLarge ||= truncated || isLargeItself(table) || counts.some((count) => count > limit || count < 0);
  }
  if (lost.size === 0) return [];
  const targets = [...lost].map(({ schema_name, name }) => shownName(schema_name, name));
  return [{ level: isLarge ? 'high' : 'medium', factor: { name: 'cascade_delete', targets } }];
}

/** All tables that the names may mean, each once. */
const meantBy = (names: readonly WrittenName[], lookup: TableLookup): readonly SnapshotTable[] => [
  ...new Set(names.flatMap(lookup)),
];

const levels: readonly RiskLevel[] = ['low', 'medium', 'high'];
const defaultMaxRows = 1000;
const drops: ReadonlySet<ReviewRule> = new Set<ReviewRule>([
  'drop_table',
  'truncate',
  'drop_index',
  'drop_view',
  'drop_sequence',
]);
