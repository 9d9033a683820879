import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../../support/api.js';
import { startFakeGateway } from '../../support/fake-gateway.js';
import { attemptId } from '../../support/fake-job.js';
import { createMysqlDatabase, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { eventually } from '../../support/processes.js';
import { startTestAgent, type TestAgent, withoutBeats } from '../../support/test-agent.js';
import { databaseToml, dbaTeamToml, passesToml } from '../../support/toml.js';

const MARKERS = 'svc.svc_execution_marker';
const id = 'varchar(64) character set utf8mb4 collate utf8mb4_bin not null';
/** The table as agents made it before rows had to fit an execution. */
const olderDdl = (table: string) => `create table ${table} (request_id ${id}, fence bigint not null, step ${id} default '',
  mode ${id}, state ${id}, execution_id ${id}, agent_id ${id}, approval_digest ${id}, rows_affected bigint,
  created_at datetime(3) not null default current_timestamp(3), primary key (request_id, fence, step)) engine = InnoDB`;
const partsDdl = 'create table parts (id int primary key, qty int) engine = InnoDB; insert into parts values (1, 10)';

const server = await openOwnMariadb(import.meta.url);
afterAll(() => server?.stop());

interface Planted {
  state?: string;
  mode?: string;
  execution?: string;
  digest?: string;
}

const root = <T>(sql: string, values: unknown[] = []): Promise<T[]> =>
  withMysql(`${server!.url()}?multipleStatements=true`, async (connection) => (await connection.query(sql, values))[0] as T[]);
const plant = (table: string, requestId: string, fence: number, what: Planted = {}) => {
  const { state = 'done', mode = 'tx', execution = randomUUID(), digest = 'd' } = what;
  return root(
    `insert into ${table} (request_id, fence, mode, state, execution_id, agent_id, approval_digest, rows_affected) values (?, ?, ?, ?, ?, 'a', ?, 1)`,
    [requestId, fence, mode, state, execution, digest],
  );
};
const userOf = ({ url }: MysqlDatabase) => `'${new URL(url).username}'@'%'`;
/** A database with an account that may create the database `svc` for markers. */
const newDatabase = async () => {
  const database = await createMysqlDatabase(server!.url());
  await root(`grant all on svc.* to ${userOf(database)}`);
  return database;
};

describe.skipIf(server === null)('marker rows that somebody has planted on MariaDB, behind a real gateway (HD-40, HD-41)', () => {
  let api: TestApi;
  let target: MysqlDatabase;
  let agent: TestAgent;
  let dana: string;
  beforeAll(async () => {
    const toml = [databaseToml('shop', ['staging'], 'mysql'), dbaTeamToml, passesToml()].join('');
    [api, target] = await Promise.all([startTestApi({ toml }), newDatabase()]);
    await root(`use ${target.name}; ${partsDdl}`);
    dana = await api.createUser('dana', { roles: ['requester'] });
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await api?.close();
    await target?.drop();
    await root('drop database if exists svc');
  });
  const ask = (detail: string) =>
    api.call('POST', '/api/requests', {
      token: dana,
      body: { database: 'shop', environment: 'staging', operation: 'execute_dml', detail },
    });

  it('no text names the table, and a change runs beside rows that fit no attempt, each of which is in the audit log', async () => {
    for (const table of [MARKERS, '`SVC`.`Svc_Execution_Marker`', 'svc_execution_marker']) {
      const refused = await ask(`insert into ${table} values ('r', 1, '', 'tx', 'done', 'e', 'a', 'd', 1, now())`);
      expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining('reserved_table')]);
    }
    const { body: created } = await ask('update parts set qty = qty + 1 where id = 1');
    expect(created.status).toBe('dispatched');
    await root(`create database svc; ${olderDdl(MARKERS)}`);
    await plant(MARKERS, created.id, 1);
    await plant(MARKERS, created.id, 7);
    agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url });
    const status = async () => (await api.call('GET', `/api/requests/${created.id}`, { token: dana })).body.status;
    await eventually(async () => !/dispatched|running/.test(await status()), 30_000);
    expect([await status(), await root(`select qty from ${target.name}.parts`)]).toEqual(['executed', [{ qty: 11 }]]);
    const { body } = await api.call('GET', '/api/audit/events?event_type=execution.marker_mismatch', { token: api.tokens.admin });
    expect(body.events).toMatchObject([{ request_id: created.id, outcome: 'denied' }]);
    expect(JSON.parse(body.events[0].metadata_json)).toMatchObject({ fence: 1, rows: [{ fence: 7 }, { fence: 1 }] });
  });
});

describe.skipIf(server === null)('marker rows of earlier agents and of nobody on MariaDB (HD-40, HD-41)', () => {
  let bench: MysqlBench;
  let older: string;
  beforeAll(async () => {
    bench = await startMysqlBench({ url: server!.url(), createDatabase: newDatabase }, { timings: withoutBeats });
    older = `${bench.database.name}.svc_execution_marker`;
    await bench.root.query(`${partsDdl}; ${olderDdl(older)}`);
    bench.gateway.onClaim = async ({ requestId, approvalDigest }) => {
      for (const table of [MARKERS, older])
        await root(`update ${table} set approval_digest = ? where request_id = ? and approval_digest = 'fits'`, [
          approvalDigest,
          requestId,
        ]);
    };
  });
  afterAll(async () => {
    await bench?.close();
    await root('drop database if exists svc');
  });
  const run = (input: object) => bench.run('execute_dml', 'update parts set qty = qty + 1', input);
  const quantity = () => bench.value('select qty from parts');

  it('the marker of an attempt by an agent of the earlier version is found where that one wrote it', async () => {
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant(older, requestId, 1, { execution: attemptId(1), digest: 'fits' });
    const result = await run({ requestId, fence: 2, unresolvedFences: [1] });
    expect(result).toMatchObject({ outcome: 'already_applied', applied_fence: 1, applied_execution_id: attemptId(1) });
    expect(await quantity()).toBe(before);
  });

  it.each<[string, number, Planted]>([
    ['an execution that is none', 1, { digest: 'fits' }],
    ['a digest that is not the approved one', 1, { execution: attemptId(1) }],
    ['the execution of another fence', 2, { execution: attemptId(1), digest: 'fits' }],
    ['an open row outside a transaction', 1, { state: 'open', mode: 'auto', digest: 'fits' }],
    ['a state in capitals', 1, { state: 'DONE', execution: attemptId(1), digest: 'fits' }],
    ['an execution with a blank behind it', 1, { execution: `${attemptId(1)} `, digest: 'fits' }],
    ['a later fence', 99, { execution: attemptId(1), digest: 'fits' }],
    ['the own fence', 3, { digest: 'fits' }],
  ])('%s neither proves nor blocks anything, and is told', async (_, fence, what) => {
    for (const table of [MARKERS, older]) {
      const [requestId, before] = [randomUUID(), Number(await quantity())];
      await plant(table, requestId, fence, what);
      const result = await run({ requestId, fence: 3, unresolvedFences: [1, 2] });
      expect(result).toMatchObject({ success: true, outcome: 'committed', marker_mismatches: [{ fence }] });
      expect(await quantity()).toBe(before + 1);
      const own = `select 1 from ${MARKERS} where request_id = ? and fence = 3 and state = 'done' and execution_id <> ?`;
      expect(await root(own, [requestId, what.execution ?? ''])).toHaveLength(fence === 3 && table === MARKERS ? 2 : 1);
    }
  });

  it('a thousand rows are told as twenty, and hide no genuine one', async () => {
    const requestId = randomUUID();
    await bench.root.query(
      `insert into ${MARKERS} (request_id, fence, mode, state, execution_id, agent_id, approval_digest)
       select ?, 1000 + seq, 'tx', 'done', concat('x', seq), 'a', 'd' from seq_1_to_1000`,
      [requestId],
    );
    await plant(MARKERS, requestId, 1, { execution: attemptId(1), digest: 'fits' });
    const result = await run({ requestId, fence: 2, unresolvedFences: [1] });
    expect(result).toMatchObject({ outcome: 'already_applied', applied_fence: 1 });
    expect(result.marker_mismatches).toHaveLength(20);
  });

  it('a later row counts when the gateway has a later attempt', async () => {
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant(MARKERS, requestId, 5);
    const result = await run({ requestId, fence: 2, gone: true });
    expect(result).toMatchObject({ success: false, outcome: 'not_started', error_message: 'superseded by attempt 5' });
    expect(await quantity()).toBe(before);
  });

  it('a trigger that deletes the marker of its own transaction takes the change with it', async () => {
    await bench.root.query(`create trigger unmark before update on parts for each row delete from ${MARKERS}`);
    const before = await quantity();
    expect(await run({})).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(await quantity()).toBe(before);
    await bench.root.query('drop trigger unmark');
  });
});

describe.skipIf(server === null)('where markers lie on MariaDB (HD-40)', () => {
  let target: MysqlDatabase;
  beforeEach(async () => {
    target = await createMysqlDatabase(server!.url());
    await root(`use ${target.name}; ${partsDdl}`);
    return async () => {
      await root('drop database if exists svc');
      await target.drop();
    };
  });
  const change = async () => {
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url: target.url });
    await gateway.nextPoll();
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 1' }).result;
    agent.stop();
    await agent.exit;
    await gateway.close();
    return { result, lines: agent.lines.join('\n') };
  };
  /** Where the marker of the change is. */
  const markedIn = async () => {
    const tables = `select table_schema as name from information_schema.tables where table_name = 'svc_execution_marker'`;
    const found: string[] = [];
    for (const { name } of await root<{ name: string }>(tables))
      if ((await root(`select 1 from ${name}.svc_execution_marker where state = 'done'`)).length > 0) found.push(name);
    return found;
  };
  const because = (why: string) => `in database ${target.name}, because of the own one: ${why}`;

  it('in a database svc that the account makes, where it may', async () => {
    await root(`grant all on svc.* to ${userOf(target)}`);
    const { result, lines } = await change();
    expect([result.outcome, await markedIn()]).toEqual(['committed', ['svc']]);
    expect(lines).not.toContain('because of the own one');
  });

  it('in one that was made for it, without the right to make databases', async () => {
    await root(`create database svc; grant create, select, insert, update, delete on svc.* to ${userOf(target)}`);
    expect([(await change()).result.outcome, await markedIn()]).toEqual(['committed', ['svc']]);
  });

  it('else in the database of the address, with a word in the log', async () => {
    const { result, lines } = await change();
    expect([result.outcome, await markedIn()]).toEqual(['committed', [target.name]]);
    expect(lines).toContain(because('Access denied for user'));
    expect(lines, 'AP-54').toContain(
      'what another agent loses is not run again by this one, which may not read `svc`.`svc_execution_marker`',
    );
  });

  it('also beside a database svc of somebody else', async () => {
    await root(`create database svc; ${olderDdl(MARKERS)}`);
    const { result, lines } = await change();
    expect([result.outcome, await markedIn()]).toEqual(['committed', [target.name]]);
    expect(lines).toContain(because(''));
  });

  it('never in a table whose triggers would run with the rights of the agent', async () => {
    await root(
      `create database svc; ${olderDdl(MARKERS)}; grant select, insert, update, delete, trigger on svc.* to ${userOf(target)}`,
    );
    await root(`create trigger svc.evil before insert on ${MARKERS} for each row set new.agent_id = 'evil'`);
    const { result, lines } = await change();
    expect([result.outcome, await markedIn()]).toEqual(['committed', [target.name]]);
    expect(lines).toContain(because('the marker table has triggers'));
    expect(lines).not.toContain('which may not read');
  });
});
