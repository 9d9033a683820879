import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createDriver } from '../../agent/drivers/create.js';
import { defaultTimings } from '../../agent/timings.js';
import { createEmptyDatabase } from '../support/postgres.js';

it('agents that come to a new database at the same time all have markers (AP-51)', async () => {
  const target = await createEmptyDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'svc-marker-'));
  const file = join(folder, 'agent.toml');
  writeFileSync(
    file,
    `[server]\nurl = "http://127.0.0.1:1"\nagent_token = "svc_test"\n[databases.shop.staging]\nurl = "${target.url}"\n`,
  );
  const config = loadAgentConfig(file, {});
  const drivers = Array.from({ length: 6 }, () => createDriver(config.databases[0]!, config, defaultTimings));
  const client = new pg.Client({ connectionString: target.url });
  await client.connect();
  try {
    for (let round = 0; round < 10; round += 1) {
      const connected = await Promise.all(drivers.map((driver) => driver.connect({ onlyLook: false })));
      expect(connected).toEqual(
        drivers.map(() => ({ markerReady: true, markerProblem: null, readProblem: null, nameProblem: null, markerNote: null })),
      );
      await client.query('drop schema svc cascade');
    }
  } finally {
    await Promise.all([client.end(), ...drivers.map((driver) => driver.close())]);
    await target.drop();
    rmSync(folder, { recursive: true, force: true });
  }
});
