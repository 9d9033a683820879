import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';

const told: Error[] = [];
const note = (warning: Error) => told.push(warning);
process.on('warning', note);
afterAll(() => process.off('warning', note));

it('OP-90: an sslmode that the library takes for verify-full puts no text of the library into the log', async () => {
  for (const mode of ['prefer', 'require', 'verify-ca']) {
    const url = `postgres://u:p@127.0.0.1:1/x?sslmode=${mode}`;
    const pool = createPostgresPool({ url, readOnly: true, max: 1, maxRowBytes: 1024, connectTimeoutMs: 5000 });
    await expect(pool.open()).rejects.toMatchObject({ kind: 'connection' });
    await pool.close();
  }
  await turn();
  expect(told).toEqual([]);
});
