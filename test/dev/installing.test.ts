import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { withMysql } from '../support/mysql.js';
import { openOwnMariadb } from '../support/own-mariadb.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { temporaryFolder } from '../support/processes.js';

const page = readFileSync(join(clone, 'docs/installing.md'), 'utf8');
const walk = /^## From nothing to the first approved query$(.*?)^## /ms.exec(page)![1]!;
const blocksOf = (language: string) =>
  [...walk.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms'))].map(([, text]) => text!.replace(/^ +/gm, ''));

const mariadb = await openOwnMariadb(import.meta.url);
let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let programs: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'svc-programs-'));
  postgres = await openOwnPostgres();
  const { file } = await findTemporalProgram({ environment: process.env, report: () => {}, signal: AbortSignal.timeout(60_000) });
  symlinkSync(file, join(programs, 'temporal'));
}, 240_000);
afterAll(async () => {
  await postgres?.close();
  await mariadb?.stop();
  if (programs) rmSync(programs, { recursive: true, force: true });
});

const statementsOf = (block: string) => block.split(/;\n/).filter((statement) => statement.trim() !== '');

async function runSql(url: string, block: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statementsOf(block)) await client.query(statement);
  } finally {
    await client.end();
  }
}

const linesOf = (block: string) => [...block.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line!);

/** The shell commands of the page as one script, with those for MySQL where they belong. What they left running ends with it. */
async function runCommands(mysqlHost: string | null): Promise<{ code: number; printed: string }> {
  const folder = await temporaryFolder();
  const [api, temporal] = [await freePort(), await freePort()];
  const [files = '', ...rest] = blocksOf('console');
  const mysql = mysqlHost === null ? [] : blocksOf('shell').flatMap(linesOf);
  const script = ['set -e', ...linesOf(files), ...mysql, ...rest.flatMap(linesOf)]
    .join('\n')
    .replaceAll('127.0.0.1:5432', new URL(postgres.url('svc')).host)
    .replaceAll('127.0.0.1:3306', mysqlHost ?? '')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${api}`)
    .replaceAll('7233', `${temporal}`)
    .replace('svc init', `svc init && sed -i 's/:3000/:${api}/' *.toml`);
  const child = spawn('bash', ['--norc', '-c', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${join(clone, 'bin')}:${programs}:${process.env.PATH}`, HOME: folder, NO_COLOR: '1' },
  });
  let printed = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (part) => {
      printed += part;
    });
  const killAll = () => process.kill(-child.pid!, 'SIGKILL');
  const stuck = setTimeout(killAll, 150_000);
  const [code] = await once(child, 'exit');
  clearTimeout(stuck);
  killAll();
  return { code, printed };
}

async function expectWalk(mysqlHost: string | null): Promise<void> {
  const { code, printed } = await runCommands(mysqlHost);
  expect(code, printed).toBe(0);
  expect(printed).toMatch(/admin_token_file=/);
  expect(printed).toMatch(/approved: group:dba-team approved.*executed.*changed/s);
}

describe('docs/installing.md leads from nothing to an approved change, with commands that run as they stand', {
  timeout: 240_000,
  shuffle: false,
}, () => {
  it('on PostgreSQL', async () => {
    const [administrator, owner] = blocksOf('sql');
    await runSql(postgres.url('postgres'), administrator!);
    await runSql(Object.assign(new URL(postgres.url('shop')), { username: 'shop_rw', password: 'writes' }).href, owner!);
    await expectWalk(null);
  });

  it.skipIf(mariadb === null)('on MariaDB', async () => {
    await runSql(postgres.url('postgres'), 'drop database svc with (force);\ncreate database svc owner svc;\n');
    const url = mariadb!.url();
    await withMysql(url, async (connection) => {
      for (const statement of statementsOf(blocksOf('mysql')[0]!)) await connection.query(statement);
    });
    await expectWalk(new URL(url).host);
  });
});
