import { expect, it, onTestFinished } from 'vitest';
import { createServer } from '../../api/server.js';
import { startTestApi } from '../support/api.js';

it('a signal during the start stops it before it serves (OP-60)', async () => {
  const api = await startTestApi();
  onTestFinished(api.close);
  const listening = () => api.logged.filter((line) => line.includes('"listening"')).length;
  expect(listening()).toBe(1);
  const stop = new AbortController();
  const { config, services } = api;
  const start = { config, listen: '127.0.0.1:0', forceBootstrap: false, log: services.log, signal: stop.signal };
  const starting = createServer(start);
  stop.abort();
  await expect(starting).rejects.toBe(stop.signal.reason);
  expect(listening()).toBe(1);
});
