import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlDatabase } from '../../support/mysql.js';
import { rowsText } from '../../support/mysql-agent.js';
import { type MysqlMigrationBench, startMysqlMigrationBench } from '../../support/mysql-migrations.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';

const mariadb = await openOwnMariadb(import.meta.url, ['lower-case-table-names=1']);

describe.skipIf(mariadb === null)('a server that tells all names in small letters (HD-30)', () => {
  let bench: MysqlMigrationBench;
  beforeAll(async () => {
    const createDatabase = async () => {
      const database = await createMysqlDatabase(mariadb!.url());
      const inCapitals = (url: string) => Object.assign(new URL(url), { pathname: `/${database.name.toUpperCase()}` }).href;
      return { ...database, url: inCapitals(database.url), readUrl: inCapitals(database.readUrl) };
    };
    bench = await startMysqlMigrationBench({ url: mariadb!.url(), createDatabase });
    await bench.root.query('create table parts (id int primary key, qty int); insert into parts values (1, 10)');
  });
  afterAll(async () => {
    await bench?.close();
    await mariadb?.stop();
  });

  it('takes jobs for a database whose address has capitals, and finds what a lost attempt did', async () => {
    const requestId = randomUUID();
    const add = 'update Parts set qty = qty + 1 where id = 1';
    expect(await bench.run('execute_dml', add, { requestId, fence: 1 })).toMatchObject({ outcome: 'committed' });
    const again = await bench.run('execute_dml', add, { requestId, fence: 2, unresolvedFences: [1] });
    expect(again).toMatchObject({ outcome: 'already_applied', applied_fence: 1, rows_affected: 1 });
    await bench.root.query(
      `insert into svc_execution_marker (request_id, fence, mode, state, execution_id, agent_id, approval_digest)
       values ('${requestId}', 0, 'tx', 'done', 'planted', 'a', 'd')`,
    );
    const told = await bench.run('execute_dml', add, { requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(told.marker_mismatches).toEqual([expect.objectContaining({ execution_id: 'planted' })]);
    expect(rowsText(await bench.run('execute_select', 'select qty from parts'))).toBe('[{"qty":11}]');
    expect(await bench.up([{ version: 'v1', up: 'create table Other (id int)' }])).toMatchObject({ success: true });
    expect([await bench.tables(), await bench.versions()]).toEqual([['other', 'parts'], ['v1']]);
  });
});
