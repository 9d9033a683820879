import { expect, it } from 'vitest';
import { startTestApi } from '../support/api.js';

it('a server has connections for its first callers when it begins to listen', async () => {
  const api = await startTestApi();
  expect(api.services.database.pool.totalCount).toBeGreaterThanOrEqual(8);
  await api.close();
});
