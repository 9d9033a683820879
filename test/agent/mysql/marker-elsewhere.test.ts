import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { mysqlMarkerDdl } from '../../../agent/marker.js';
import { startFakeGateway } from '../../support/fake-gateway.js';
import { attemptId, type JobInput } from '../../support/fake-job.js';
import { createMysqlDatabase, type MysqlDatabase, withMysql } from '../../support/mysql.js';
import { openOwnMariadb } from '../../support/own-mariadb.js';
import { startTestAgent } from '../../support/test-agent.js';

const MARKERS = 'svc.svc_execution_marker';

const server = await openOwnMariadb(import.meta.url);
afterAll(() => server?.stop());

const root = <T>(sql: string): Promise<T[]> =>
  withMysql(`${server!.url()}?multipleStatements=true`, async (connection) => (await connection.query(sql))[0] as T[]);

describe.skipIf(server === null)('markers of agents with other rights or another configuration on MariaDB', () => {
  let target: MysqlDatabase;
  let user: string;
  beforeEach(async () => {
    target = await createMysqlDatabase(server!.url());
    user = `'${new URL(target.url).username}'@'%'`;
    await root(`grant all on svc.* to ${user}; create database svc; create database more; ${mysqlMarkerDdl(MARKERS)}`);
    await root(
      `use ${target.name}; create table parts (id int primary key, qty int) engine = InnoDB; insert into parts values (1, 10)`,
    );
    return async () => {
      await root('drop database if exists svc; drop database more');
      await target.drop();
    };
  });

  const quantity = async () => (await root<{ qty: number }>(`select qty from ${target.name}.parts`))[0]?.qty;
  /** The result of one change by an agent that starts for it, and what that agent says of its markers. */
  async function change(input: Partial<JobInput>, tables = '', url = target.url) {
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url, tables });
    const poll = await gateway.nextPoll();
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = qty + 1', ...input }).result;
    agent.stop();
    await agent.exit;
    await gateway.close();
    const { scopes } = poll.capabilities as { scopes: { marker: boolean }[] };
    return { result, marker: scopes[0]?.marker, lines: agent.lines.join('\n') };
  }
  /** An attempt whose answer the gateway lost, and the next one. */
  async function changeTwice(between: () => Promise<unknown>, tables?: string) {
    const requestId = randomUUID();
    expect((await change({ requestId })).result).toMatchObject({ outcome: 'committed' });
    await between();
    return await change({ requestId, fence: 2, unresolvedFences: [1] }, tables);
  }

  /** What an agent of an earlier version left beside the data. */
  async function leaveOlderTable(): Promise<string> {
    const older = `${target.name}.svc_execution_marker`;
    await root(`${mysqlMarkerDdl(older)}; insert into ${older} values
      ('old', 1, '', 'tx', 'done', '-', '-', '-', 1, utc_timestamp(3) - interval 3 day)`);
    return older;
  }
  const unproven = {
    outcome: 'unknown',
    error_message: 'the marker table is newer than a lost attempt: it is not known what attempt 1 did',
  };

  it.each([
    ['whose own table was dropped and is made again', () => `drop table ${MARKERS}`],
    ['whose account may not use the own database any more', () => `revoke all on svc.* from ${user}`],
    ['whose own database is gone', () => `revoke all on svc.* from ${user}; drop database svc`],
  ])('AP-54, AG-I3: to an agent %s an older table elsewhere proves nothing', async (_, sql) => {
    await leaveOlderTable();
    const again = await changeTwice(() => root(sql()));
    expect(again).toMatchObject({ marker: true, result: unproven });
    expect(await quantity()).toBe(11);
  });

  it('AG-59, AP-54: what an earlier version lost runs again by its own table, but not once that is gone', async () => {
    const older = await leaveOlderTable();
    const claimed_at = new Date(Date.now() - 3_600_000).toISOString();
    const unresolved_executions = [{ fence: 1, execution_id: attemptId(1), claimed_at, marker_form: 1 }];
    const forge = (claim: Record<string, unknown>) => ({ ...claim, unresolved_executions });
    const lost = { fence: 2, unresolvedFences: [1], forge };
    expect((await change(lost)).result).toMatchObject({ outcome: 'committed' });
    await root(`drop table ${older}`);
    expect((await change(lost)).result).toMatchObject(unproven);
    expect(await quantity()).toBe(11);
  });

  it.each([
    [
      'whose account may no longer delete there',
      () => `revoke all on svc.* from ${user}; grant select, insert on svc.* to ${user}`,
    ],
    ['that finds a trigger there', () => `create trigger svc.t before insert on ${MARKERS} for each row set new.agent_id = 'x'`],
  ])('AP-54: an agent %s finds the marker of a lost attempt', async (_, sql) => {
    const again = await changeTwice(() => root(sql()));
    expect(again).toMatchObject({ marker: true, result: { success: true, outcome: 'already_applied', applied_fence: 1 } });
    expect(await quantity()).toBe(11);
  });

  it('AP-54: an agent with another [marker] schema finds it too', async () => {
    const again = await changeTwice(() => root(`grant all on more.* to ${user}`), '[marker]\nschema = "more"');
    expect(again).toMatchObject({ marker: true, result: { success: true, outcome: 'already_applied', applied_fence: 1 } });
    expect(await quantity()).toBe(11);
  });

  it('AP-52, AP-54: where markers may be in a table that cannot be read, no lost attempt runs again', async () => {
    const again = await changeTwice(() => root(`revoke all on svc.* from ${user}; grant insert on svc.* to ${user}`));
    expect(again).toMatchObject({
      marker: false,
      result: { success: false, outcome: 'unknown' },
    });
    expect(again.lines).toContain('markers may be in `svc`.`svc_execution_marker`, which cannot be read: SELECT command denied');
    expect(await quantity()).toBe(11);
  });

  describe('an agent whose account has no right on the database svc', () => {
    const other = "'other_agent'@'%'";
    let url: string;
    /** It has written beside the data for longer than anything here is lost. */
    beforeEach(async () => {
      url = Object.assign(new URL(target.url), { username: 'other_agent' }).href;
      await root(`create user ${other} identified by 'test'; grant all on ${target.name}.* to ${other}`);
      expect((await change({}, '', url)).result).toMatchObject({ outcome: 'committed' });
      return () => root(`drop user ${other}`);
    });
    /** By the other agent, whose markers lie in `svc`; then by this one. */
    async function resume(between = () => Promise.resolve<unknown>(null)) {
      const requestId = randomUUID();
      expect((await change({ requestId })).result).toMatchObject({ outcome: 'committed' });
      await between();
      const again = { requestId, fence: 2, unresolvedFences: [1], lostBy: 'agent-2' };
      return (await change(again, '', url)).result;
    }

    it('AP-54, AG-I3: does not run a write again whose marker may be there', async () => {
      expect(await resume()).toMatchObject({
        outcome: 'unknown',
        error_message: expect.stringContaining('markers may be in `svc`.`svc_execution_marker`, which cannot be read'),
      });
      expect(await quantity()).toBe(12);
    });

    it('AP-54: finds the marker once it may read there', async () => {
      const result = await resume(() => root(`grant select on svc.* to ${other}`));
      expect(result).toMatchObject({ success: true, outcome: 'already_applied', applied_fence: 1 });
      expect(await quantity()).toBe(12);
    });

    it('AG-59: runs again what another one lost before it wrote, if it may read where nothing is', async () => {
      await root(`drop database svc; grant select on svc.* to ${other}`);
      const lost = { fence: 2, unresolvedFences: [1], lostBy: 'agent-2' };
      expect((await change(lost, '', url)).result).toMatchObject({ outcome: 'committed' });
    });

    it('AG-59: runs again what it lost itself before it wrote', async () => {
      expect((await change({ fence: 2, unresolvedFences: [1] }, '', url)).result).toMatchObject({ outcome: 'committed' });
    });
  });

  it("AP-52: somebody else's marker table that cannot be read blocks nothing", async () => {
    await root(`${mysqlMarkerDdl('more.svc_execution_marker')}; grant insert on more.* to ${user}`);
    const again = await changeTwice(() => Promise.resolve());
    expect(again).toMatchObject({ marker: true, result: { success: true, outcome: 'already_applied', applied_fence: 1 } });
    expect(await quantity()).toBe(11);
  });

  it('HD-41: a table of that name that no agent made blocks nothing', async () => {
    await root(`grant all on more.* to ${user}; create table more.svc_execution_marker (id int) engine = InnoDB`);
    const again = await changeTwice(() =>
      root('drop table more.svc_execution_marker; create view more.svc_execution_marker as select 1'),
    );
    expect(again).toMatchObject({ marker: true, result: { outcome: 'already_applied' } });
  });

  it('AP-54: a marker table of another database may go while the agent runs', async () => {
    await root(`grant all on more.* to ${user}; ${mysqlMarkerDdl('more.svc_execution_marker')}`);
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url: target.url });
    await gateway.nextPoll();
    await root('drop table more.svc_execution_marker');
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 1' }).result;
    expect(result).toMatchObject({ success: true, outcome: 'committed' });
    agent.stop();
    await agent.exit;
    await gateway.close();
  });
});
