import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';

it('an upgrade bounds what passed by risk and may still run, and nothing else (HD-25)', async () => {
  const test = await createTestDatabase();
  const database = openTestDatabase(test.url, 2);
  try {
    await database.query(`insert into users (id, source) values ('alice', 'api')`);
    const rule = { mode: 'risk_based', risk: 'low', allowReadOnly: true, allowSafeDdl: true, maxEstimatedRows: 250 };
    const stored = async (reason: string, change = '', options: Parameters<typeof storeRequest>[1] = { dispatched: true }) => {
      const id = await storeRequest(database, options);
      await database.query(
        `update requests set workflow = jsonb_set(workflow, '{autoApprove}', $2),
           decision_trace = jsonb_set(decision_trace, '{decision,reasons}', $3)${change} where id = $1`,
        [id, JSON.stringify(rule), JSON.stringify([reason])],
      );
      return id;
    };
    const ids = [
      await stored('risk_below_threshold'),
      await stored('explicit_always'),
      await stored('risk_below_threshold', '', { dispatched: true, operation: 'execute_select' }),
      await stored('risk_below_threshold', `, dispatch_by = now() - interval '1 second'`),
      await stored('risk_below_threshold', `, status = 'cancelled'`),
      await stored('risk_below_threshold', `, status = 'execution_lost'`),
    ];
    const file = readFileSync(new URL('../../db/migrations/12_passing.sql', import.meta.url), 'utf8');
    await database.query(file.slice(file.indexOf('update requests')));
    const rows = await database.query<{ id: string; bound: number | null }>(
      'select id, max_affected_rows as bound from requests',
    );
    const boundOf = new Map(rows.map(({ id, bound }) => [id, bound]));
    expect(ids.map((id) => boundOf.get(id))).toEqual([250, null, null, null, null, 250]);
  } finally {
    await database.close();
    await test.drop();
  }
});
