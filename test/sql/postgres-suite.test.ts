import { chmodSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { type PostgresServer, startPostgres } from '../../dev/postgres.js';
import { createSqlClassifier } from '../../sql/classify.js';
import { holesOf, runSuite, type SuiteReport } from '../support/classified-suite.js';
import { noteNotRun } from '../support/not-run.js';
import { findPostgresSuite } from '../support/postgres-suite.js';
import { isFull, share } from '../support/share.js';
import { unhurried } from '../support/unhurried.js';
import { openWatchedSession, readerRole } from '../support/watched-session.js';

const suite = await findPostgresSuite();
if ('why' in suite) noteNotRun(import.meta.url, suite.why);
const suiteMs = 600_000;

describe.skipIf('why' in suite)('SQ-I1: what is classified a read, on a real PostgreSQL', () => {
  let folder: string;
  let server: PostgresServer;
  let report: SuiteReport;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-suite-'));
    chmodSync(folder, 0o755);
    server = await startPostgres({
      clone,
      dataDir: join(folder, 'postgres'),
      password: 'test',
      logFile: join(folder, 'postgres.log'),
      durable: false,
    });
    report = await runHere('folder' in suite ? suite.folder : '');
  }, suiteMs);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The suite is run on a server of its own, whose log nobody else writes; the server reads the suite's data as another user. */
  async function runHere(source: string): Promise<SuiteReport> {
    cpSync(join(source, 'data'), join(folder, 'data'), { recursive: true });
    const first = await openWatchedSession(server.url('postgres'));
    for (const text of prepare) await first.run(text);
    await first.close();
    const session = await openWatchedSession(server.url('regression'));
    const classifier = await createSqlClassifier(unhurried);
    const environment = { PG_ABS_SRCDIR: folder, PG_ABS_BUILDDIR: folder, PG_LIBDIR: folder, PG_DLSUFFIX: '.so' };
    const done = await runSuite({ folder: source, environment, files: share(30, Number.POSITIVE_INFINITY) }, classifier, session);
    await classifier.close();
    await session.close();
    console.log(tell(done));
    return done;
  }

  it.each([
    ['insert into noticed values (1)', 'took a transaction id'],
    [`select nextval('noticed_ids')`, 'took a transaction id'],
    ['select * from noticed for share', 'locked relation RowShareLock'],
    ['select pg_advisory_xact_lock(7)', 'locked advisory ExclusiveLock'],
    [`select pg_logical_emit_message(false, 'a', 'b')`, 'wrote to the log'],
  ])('would be noticed if it did: %s', async (text, hole) => {
    const session = await openWatchedSession(server.url('postgres'));
    await session.run('create table if not exists noticed (a int); create sequence if not exists noticed_ids');
    const none: SuiteReport = { verdicts: {}, ran: 0, failed: 0, byOwnCode: 0, holes: [], crashes: 0 };
    expect((await holesOf(session, { text, kind: 'query', tables: [] }, none))[0]).toContain(hole);
    await session.close();
  });

  it('changes nothing, with all rights and with none to write, in transactions that may write and in those that may not', () => {
    expect(report.holes).toEqual([]);
  });

  it('truly ran: thousands of reads came to their end', () => {
    expect(report.verdicts.read).toBeGreaterThan(share(1_000, 15_000));
    expect(report.ran).toBeGreaterThan(share(800, 12_000));
  });

  it('and without ending the server, but for faults that a newer release has mended', () => {
    expect(report.crashes).toBeLessThanOrEqual(3);
  });

  // Comes late in the suite.
  it.runIf(isFull)(
    'apart from functions and views that somebody put into the database, which the text does not show (SQ-45)',
    () => {
      expect(report.byOwnCode).toBeGreaterThan(0);
    },
  );
});

/** What docs/sql-safety.md says of a run. */
function tell({ verdicts, holes, ...counts }: SuiteReport): string {
  const sums = new Map<string, number>();
  for (const [verdict, number] of Object.entries(verdicts)) {
    const reason = verdict.split(':')[0] ?? '';
    sums.set(reason, (sums.get(reason) ?? 0) + number);
  }
  return JSON.stringify({ ...Object.fromEntries(sums), ...counts, holes: holes.length });
}

const prepare = [
  `create role ${readerRole}`,
  `grant pg_read_all_data to ${readerRole}`,
  'alter system set autovacuum = off',
  'select pg_reload_conf()',
  'create database regression',
];
