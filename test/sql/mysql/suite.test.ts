import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import type { Accepted } from '../../../sql/verdict.js';
import { findMariadbSuite } from '../../support/mariadb-suite.js';
import { noteNotRun } from '../../support/not-run.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { share } from '../../support/share.js';
import { unhurried } from '../../support/unhurried.js';
import { binlogEnd, didHarm, openWatched, runWatched } from '../../support/write-watch.js';
import { suiteFiles } from './suite-files.js';
import { statementsOf } from './suite-statements.js';

const suite = await findMariadbSuite({ signal: AbortSignal.timeout(600_000), report: (line) => console.error(line) }).catch(
  (error: Error) => noteNotRun(import.meta.url, error.message),
);
const server = suite === undefined ? null : await openOwnMariadb(import.meta.url);
let classifier: SqlClassifier;
beforeAll(async () => {
  classifier = await createSqlClassifier(unhurried);
});
afterAll(async () => {
  await server?.stop();
  await classifier.close();
});

interface Figures {
  /** Statements by what we call them: read, setting, write, ddl, write+ddl, refused, empty. */
  classified: Record<string, number>;
  /** Reads that ran to their end under the account with all rights, and under the one that can only SELECT. */
  ran: number;
  ranReading: number;
  /** Reads that wrote or locked under either account, or moved the binary log. */
  harmful: string[];
  /** Refused statements that gave rows in a read-only transaction of the account that can only SELECT, by reason. */
  harmless: Record<string, number>;
}

describe.skipIf(server === null)('MariaDB’s own test suite, classified by us and by the server', () => {
  it('SQ-I1: nothing that we call a read writes, locks or moves the binary log', async () => {
    const figures: Figures = { classified: {}, ran: 0, ranReading: 0, harmful: [], harmless: {} };
    const accounts = await openAccounts();
    for (const file of suiteFiles.slice(0, share(3, suiteFiles.length)))
      await classifyFile(join(suite!, `${file}.test`), accounts, figures);
    for (const connection of Object.values(accounts)) connection.destroy();
    if (process.env.SVC_TEST_FIGURES) writeFileSync(process.env.SVC_TEST_FIGURES, JSON.stringify(figures, null, 1));
    expect(figures.harmful).toEqual([]);
    expect(figures.classified.read).toBeGreaterThan(share(300, 3_500));
    expect(figures.ran).toBeGreaterThan(share(200, 2_500));
    expect(figures.ranReading).toBeGreaterThan(share(200, 2_500));
  }, 600_000);
});

interface Accounts {
  admin: Connection;
  reader: Connection;
}

async function openAccounts(): Promise<Accounts> {
  const admin = await openWatched(server!.url(), 300);
  await admin.query(`create user reader@'%' identified by 'test'`);
  await admin.query(`grant select on *.* to reader@'%'`);
  const address = Object.assign(new URL(server!.url()), { username: 'reader' }).href;
  return { admin, reader: await openWatched(address, 300) };
}

/** Runs what a file writes and defines, so that its reads find their tables, and watches its reads. */
async function classifyFile(file: string, accounts: Accounts, figures: Figures): Promise<void> {
  for (const statement of ['drop database if exists test', 'create database test', 'use test'])
    await accounts.admin.query(statement);
  await accounts.reader.query('use test');
  const reads: string[] = [];
  const watch = () => watchReads(reads.splice(0), accounts, figures);
  for (const text of statementsOf(file)) {
    const verdict = await classifier.classify(text, { dialect: 'mysql', statementTimeoutSecs: 30 });
    const called = verdict.verdict === 'accepted' ? classOf(verdict) : verdict.verdict;
    figures.classified[called] = (figures.classified[called] ?? 0) + 1;
    if (called === 'read') reads.push(text);
    if (called === 'read' && reads.length < 20) continue;
    await watch();
    if (verdict.verdict === 'refused') await runRefused(text, verdict.reason, accounts, figures);
    if (/write|ddl/.test(called)) await accounts.admin.query(text).catch(stopIfLost);
  }
  await watch();
}

/** Reads that follow each other are watched together, under both accounts. */
async function watchReads(reads: readonly string[], { admin, reader }: Accounts, figures: Figures): Promise<void> {
  if (reads.length === 0) return;
  const before = await binlogEnd(admin);
  const [free, reading] = await Promise.all([runWatched(admin, reads), runWatched(reader, reads)]);
  const moved = (await binlogEnd(admin)) !== before;
  figures.ran += free.errors.filter((error) => error === null).length;
  figures.ranReading += reading.errors.filter((error) => error === null).length;
  if (moved || didHarm(free) || didHarm(reading)) figures.harmful.push(reads.join(';\n'));
}

/** Those that later statements of their file build on run; those that begin like a question are tried. */
async function runRefused(text: string, reason: string, { admin, reader }: Accounts, figures: Figures): Promise<void> {
  if (neededByReads.test(text)) {
    await admin.query(text).catch(stopIfLost);
    if (/^use/i.test(text)) await reader.query(text).catch(stopIfLost);
  } else if (question.test(text) && !/\binto\b/i.test(text)) {
    await reader.query('start transaction read only');
    const effects = await runWatched(reader, [text]);
    await reader.query('rollback');
    if (effects.errors[0] === null && !didHarm(effects)) figures.harmless[reason] = (figures.harmless[reason] ?? 0) + 1;
  }
}

const neededByReads = /^(use|create\s+(or\s+replace\s+)?(table|view|database|schema|sequence))\b/i;
const question = /^\(*\s*(select|with|show|explain|desc|describe|values|table|analyze|check|help)\b/i;

function classOf(verdict: Accepted): string {
  if (verdict.read) return verdict.statements.some((each) => each.class === 'read') ? 'read' : 'setting';
  return [verdict.write ? 'write' : '', verdict.ddl ? 'ddl' : ''].filter(Boolean).join('+');
}

function stopIfLost(error: Error & { fatal?: boolean }): void {
  if (error.fatal) throw error;
}
