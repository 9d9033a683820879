import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { type GatewayBench, startRiskBench } from './gateway-bench.js';

let bench: GatewayBench;
let bob: string;
let carol: string;
beforeAll(async () => {
  ({ bench, bob, carol } =
    await startRiskBench(`create table customers (id int primary key, name text); create table orders (id int primary key, note text);
    insert into customers select n, n from generate_series(1, 9) n; insert into orders select n, n from generate_series(1, 9) n; analyze`));
});
afterAll(() => bench?.close());

it('a reference that would let an approved delete remove rows of another table waits for approval (SQ-82)', async () => {
  const id = await bench.calls.created(bob, {
    environment: 'staging',
    operation: 'execute_dml',
    detail: 'delete from orders where id = 5',
    require_approval: true,
  });
  expect((await bench.calls.act(carol, id, 'approve')).status).toBe(200);

  const armed = await bench.create('alter table customers add column latest int references orders on delete cascade');
  expect(await bench.ended(armed)).toBe('pending');
  await bench.ended(await bench.create('update customers set latest = 5 where id = 7'));

  expect((await bench.calls.act(bob, id, 'resume')).status).toBe(200);
  await eventually(async () => (await bench.calls.show(bob, id)).body.status === 'executed');
  expect((await bench.target.query('select count(*)::int as n from customers')).rows).toEqual([{ n: 9 }]);
});
