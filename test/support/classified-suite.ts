import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClassifiedStatement } from '../../domain/statement.js';
import type { SqlClassifier, Verdict } from '../../sql/classify.js';
import { cutScript, type ScriptStatement } from './psql-script.js';
import type { Trace, Watched, WatchedSession } from './watched-session.js';

export interface SuiteReport {
  /** Statements by verdict; refused ones by their reason. */
  verdicts: Record<string, number>;
  /** Reads that ran to their end, and those that the server refused for its own reasons. */
  ran: number;
  failed: number;
  /** Reads that wrote or locked through functions and views that somebody had put into the database (SQ-45). */
  byOwnCode: number;
  /** Reads that left something behind: `file: what: statement`. */
  holes: string[];
  /** Reads that crashed the server: the suite of a newer release tests faults that this one still has. */
  crashes: number;
}

export interface Suite {
  /** The folder of the suite. */
  folder: string;
  environment: Readonly<Record<string, string>>;
  /** How many of its files are run. */
  files: number;
}

/**
 * Runs the first `files` of the suite in their order on one session. Reads are watched; everything else prepares for them.
 * Statements that control transactions are left out, because each read has its own. So are settings that change how text is read,
 * because the agent fixes them.
 */
export async function runSuite(
  { folder, environment, files }: Suite,
  classifier: SqlClassifier,
  session: WatchedSession,
): Promise<SuiteReport> {
  const report: SuiteReport = { verdicts: {}, ran: 0, failed: 0, byOwnCode: 0, holes: [], crashes: 0 };
  for (const file of scheduleOf(folder).slice(0, files)) {
    await session.run(`set statement_timeout = 2000; set track_functions = 'all'`);
    const script = readFileSync(join(folder, 'sql', `${file}.sql`), 'utf8');
    const holes = await runFile(cutScript(script, environment), classifier, session, report);
    report.holes.push(...holes.map((hole) => `${file}: ${hole}`));
    for (const reset of ['reset session authorization', 'reset role', 'discard all']) await session.run(reset);
  }
  return report;
}

async function runFile(
  statements: readonly ScriptStatement[],
  classifier: SqlClassifier,
  session: WatchedSession,
  report: SuiteReport,
): Promise<string[]> {
  const holes: string[] = [];
  let before: string | null = null;
  for (const { text, data } of statements) {
    const verdict = await classifier.classify(text, { dialect: 'postgresql', statementTimeoutSecs: 0 });
    count(report, verdict);
    const read = readOf(verdict);
    if (read !== null) {
      const { ran, failed, crashes } = report;
      if (before === null && (ran + failed) % stateEvery === 0) before = await stateOf(session);
      holes.push(...(await holesOf(session, read, report)).map((hole) => `${hole}: ${read.text}`));
      if (report.crashes > crashes) before = null;
      continue;
    }
    const after = before === null ? null : await stateOf(session);
    if (after !== before) holes.push(`left ${after} behind instead of ${before}, before ${text}`);
    before = null;
    if (!passedOver.test(reasonOf(verdict)) && !changesReading.test(text)) await session.run(text, data);
  }
  return holes;
}

function scheduleOf(folder: string): string[] {
  const lines = readFileSync(join(folder, 'parallel_schedule'), 'utf8').split('\n');
  return lines.filter((line) => line.startsWith('test:')).flatMap((line) => line.slice('test:'.length).trim().split(/\s+/));
}

/**
 * One read in so many begins with a look at the state, which costs as much as ten reads; the next statement that is no read ends
 * with another.
 */
const stateEvery = 30;
const passedOver = /^transaction control/;
const changesReading = /standard_conforming_strings|client_encoding/i;

const reasonOf = (verdict: Verdict): string => (verdict.verdict === 'refused' ? verdict.reason : '');

function count({ verdicts }: SuiteReport, verdict: Verdict): void {
  const words = verdict.verdict === 'accepted' ? classOf(verdict) : verdict.verdict;
  const what = verdict.verdict === 'refused' ? (verdict.parseFailure ? 'does not parse' : verdict.reason) : words;
  verdicts[what] = (verdicts[what] ?? 0) + 1;
}

function classOf({ read, write, ddl }: { read: boolean; write: boolean; ddl: boolean }): string {
  if (read) return 'read';
  return write && ddl ? 'write+ddl' : write ? 'write' : 'ddl';
}

/** The single query of a read, as the classifier cut it out; null for everything else. */
function readOf(verdict: Verdict): Read | null {
  if (verdict.verdict !== 'accepted' || !verdict.read) return null;
  const [only, ...more] = verdict.statements;
  const tables = verdict.facts.flatMap(({ named }) => named.map(({ name }) => name));
  return only?.class === 'read' && more.length === 0 ? { ...only, tables } : null;
}

export interface Read extends Pick<ClassifiedStatement, 'text' | 'kind'> {
  tables: readonly string[];
}

/** What a read left behind, watched in all three transactions. */
export async function holesOf(session: WatchedSession, read: Read, report: SuiteReport): Promise<string[]> {
  const watched = await session.watch(read.text);
  if (watched.error !== null && watched.error.code === undefined && (await session.reconnect())) report.crashes += 1;
  if (watched.writable === undefined) report.failed += 1;
  else report.ran += 1;
  const holes: string[] = [];
  for (const [where, trace] of tracesOf(watched)) {
    if (trace.transactionId !== null) holes.push(`took a transaction id, ${where}`);
    else if (locksToo(trace, read)) holes.push(`locked ${trace.locks}, ${where}`);
    else if (trace.movedLog && (await movesLogAgain(session, read.text))) holes.push(`wrote to the log, ${where}`);
  }
  if (holes.length === 0 || !(await runsOwnCode(session, read))) return holes;
  report.byOwnCode += 1;
  return [];
}

/** Whether the statement calls functions or reads views that are not PostgreSQL's own. Inlined functions are not seen. */
async function runsOwnCode(session: WatchedSession, { text, tables }: Read): Promise<boolean> {
  const called = await session.run(`begin;\n${text}\n;select count(*) from pg_catalog.pg_stat_xact_user_functions
    where schemaname <> 'pg_catalog'`);
  await session.run('rollback');
  const names = tables.map((name) => `'${name.replaceAll("'", "''")}'`);
  const viewed = await session.run(`select count(*) from pg_catalog.pg_class c where c.relkind = 'v' and c.oid >= 16384
    and c.relname in (${['null', ...names].join(', ')})`);
  return Number(called.firstRows[2]?.[0] ?? 0) + Number(viewed.firstRows[0]?.[0] ?? 0) > 0;
}

function tracesOf({ writable, readOnly, reader }: Watched): [string, Trace][] {
  const all = { 'with all rights': writable, 'in a read-only transaction': readOnly, 'by one who may not write': reader };
  return Object.entries(all).flatMap(([where, trace]) => (trace === undefined ? [] : [[where, trace]]));
}

/** A plan takes the same locks as its statement. */
function locksToo({ locks }: Trace, { kind }: Read): boolean {
  if (locks === null) return false;
  return kind !== 'explain' || locks.split(', ').some((lock) => !/^relation Row(Share|Exclusive)Lock$/.test(lock));
}

/** Other processes write to the log now and then, and a read may tidy a page once. A statement that writes does so each time. */
async function movesLogAgain(session: WatchedSession, text: string): Promise<boolean> {
  for (let again = 0; again < 3; again += 1)
    if (!tracesOf(await session.watch(text)).some(([, { movedLog }]) => movedLog)) return false;
  return true;
}

/** What a session keeps outside of transactions: settings, sequences, prepared statements, cursors, advisory locks. */
async function stateOf(session: WatchedSession): Promise<string> {
  const { firstRows, error } =
    await session.run(`select (select pg_catalog.md5(pg_catalog.string_agg(name || setting, ',' order by name))
      from pg_catalog.pg_settings where source = 'session'),
    (select pg_catalog.string_agg(c.oid || '=' || coalesce(pg_catalog.pg_sequence_last_value(c.oid), 0), ',' order by c.oid)
      from pg_catalog.pg_class c where c.relkind = 'S' and c.relpersistence = 'u'),
    (select count(*) from pg_catalog.pg_prepared_statements), (select count(*) from pg_catalog.pg_cursors),
    (select count(*) from pg_catalog.pg_locks where locktype = 'advisory' and pid = pg_catalog.pg_backend_pid())`);
  return JSON.stringify(error?.message ?? firstRows[0]);
}
