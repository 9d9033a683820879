import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doctorAgent } from '../../../agent/doctor.js';
import { findMysql, type MysqlDatabase } from '../../support/mysql.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('svc doctor --agent with a MySQL target (CL-45)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mysql-doctor-'));
  let database: MysqlDatabase;
  beforeAll(async () => {
    database = await server!.createDatabase();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await database?.drop();
  });

  it('tells what the account of reads may write, and a wrong password', async () => {
    const file = join(folder, 'agent.toml');
    const check = async (url: string, more = '') => {
      const address = `[databases.shop.staging]\nurl = "${url}"\n${more}`;
      writeFileSync(file, `[server]\nurl = "http://127.0.0.1:1"\nagent_token = "x"\n${address}`);
      const looks = { file, variables: {}, timeoutMs: 20_000, signal: new AbortController().signal };
      const checks = await doctorAgent(looks);
      return Object.fromEntries(checks.map((one) => [one.id, one]));
    };
    const found = await check(database.url);
    expect(found.db_connect).toMatchObject({ status: 'pass', message: 'shop/staging: connected' });
    expect(found.db_read_only_role).toMatchObject({ status: 'warn', message: expect.stringContaining('may write') });
    expect(found.marker_ready!.status).toBe('pass');
    const apart = await check(database.url, `read_url = "${database.readUrl}"\n`);
    expect(apart.db_read_only_role).toMatchObject({ status: 'pass', details: { database: 'shop/staging' } });
    const wrong = Object.assign(new URL(database.url), { password: 'hunter2' }).href;
    const refused = await check(wrong);
    expect(refused.db_connect).toMatchObject({ status: 'fail', message: expect.stringContaining('authentication failed') });
    expect([refused.db_read_only_role!.status, refused.marker_ready!.status]).toEqual(['skip', 'skip']);
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  });
});
