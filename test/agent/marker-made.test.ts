import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createDriver } from '../../agent/drivers/create.js';
import type { Driver } from '../../agent/drivers/driver.js';
import { defaultTimings } from '../../agent/timings.js';
import { type ExchangeFaults, isMysqlStatement, startExchangeFaults } from '../support/exchange-faults.js';
import { createMysqlDatabase, type MysqlDatabase, withMysql } from '../support/mysql.js';
import { openOwnMariadb } from '../support/own-mariadb.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';

const ready = { markerReady: true, markerProblem: null, readProblem: null, nameProblem: null, markerNote: null };

function driverOf(url: string, readUrl = url): Driver {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-agent-')), 'agent.toml');
  const target = `[databases.shop.staging]\nurl = "${url}"\nread_url = "${readUrl}"\n`;
  writeFileSync(file, `[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n${target}`);
  const config = loadAgentConfig(file, {});
  return createDriver(config.databases[0]!, config, defaultTimings);
}

interface Place {
  faults: ExchangeFaults;
  /** For agents that nothing happens to, and for reads. */
  url: string;
  readUrl: string;
  /** Takes schema and table away. */
  clear(): Promise<unknown>;
  /** Rows of the marker table, and transactions that somebody has left open. */
  left(): Promise<{ rows: number; open: number }>;
}

/**
 * Ends an agent at each exchange of its first look at a new database, before the server gets it and after, beside another one that comes at the same time:
 * to the server a killed agent is a connection that ends.
 */
async function expectMade({ faults, url, readUrl, clear, left }: Place): Promise<number> {
  const [others, after] = [driverOf(url, readUrl), driverOf(url, readUrl)];
  try {
    for (let nth = 1; ; nth += 1)
      for (const when of ['before', 'after'] as const) {
        await clear();
        const killed = driverOf(faults.url, readUrl);
        faults.arm(nth, when);
        const [how, beside] = await Promise.allSettled([
          killed.connect({ onlyLook: false }),
          others.connect({ onlyLook: false }),
        ]);
        await killed.close();
        const step = `${when} exchange ${nth}`;
        expect([step, beside]).toEqual([step, { status: 'fulfilled', value: ready }]);
        expect([step, await after.connect({ onlyLook: false })]).toEqual([step, ready]);
        await expect.poll(left, { interval: 150 }).toEqual({ rows: 1, open: 0 });
        if (faults.count < nth) {
          expect(how).toEqual({ status: 'fulfilled', value: ready });
          return nth;
        }
      }
  } finally {
    await Promise.all([others.close(), after.close()]);
  }
}

describe('the markers of a new PostgreSQL database (HD-40, AP-51)', () => {
  let database: TestDatabase;
  let root: pg.Client;
  let faults: ExchangeFaults;
  beforeAll(async () => {
    ({ database, client: root } = await connectEmptyDatabase());
    faults = await startExchangeFaults(database.url);
  });
  afterAll(async () => {
    await faults?.proxy.close();
    await root?.end();
    await database?.drop();
  });

  it('are made by two agents at once, of which one is killed anywhere, and by the next one', async () => {
    const look = `select (select count(*)::int from svc.svc_execution_marker) as rows, (select count(*)::int from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%') as open`;
    const steps = await expectMade({
      faults,
      url: database.url,
      readUrl: database.url,
      clear: () => root.query('drop schema if exists svc cascade'),
      left: async () => (await root.query(look)).rows[0],
    });
    expect(steps).toBeGreaterThan(8);
  }, 120_000);
});

const mariadb = await openOwnMariadb(import.meta.url);

describe.skipIf(mariadb === null)('the markers of a new MariaDB database (HD-40, AP-51)', () => {
  let database: MysqlDatabase;
  let faults: ExchangeFaults;
  const root = <T>(sql: string) => withMysql(mariadb!.url(), async (connection) => (await connection.query(sql))[0] as T[]);
  beforeAll(async () => {
    database = await createMysqlDatabase(mariadb!.url());
    await root(`grant all on svc.* to '${new URL(database.url).username}'@'%'`);
    faults = await startExchangeFaults(database.url, isMysqlStatement);
  });
  afterAll(async () => {
    await faults?.proxy.close();
    await mariadb?.stop();
  });

  it('are made by two agents at once, of which one is killed anywhere, and by the next one', async () => {
    const steps = await expectMade({
      faults,
      url: database.url,
      readUrl: database.readUrl,
      clear: () => root('drop database if exists svc'),
      left: async () => {
        const [marked] = await root<{ n: number }>('select count(*) as n from svc.svc_execution_marker');
        // The server tells its transactions from a copy, which may still have those of sessions that are gone.
        const [open] = await root<{ n: number }>(
          `select count(*) as n from information_schema.innodb_trx t join information_schema.processlist p on p.id = t.trx_mysql_thread_id
           where p.id <> connection_id()`,
        );
        return { rows: marked!.n, open: open!.n };
      },
    });
    expect(steps).toBeGreaterThan(8);
  }, 120_000);
});
