import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { detailInstant, logInstant, tableInstant } from '../../cli/output/instant.js';
import { createStyle } from '../../cli/output/style.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { paths, requestId, shown } from './samples.js';

const now = Date.parse('2026-05-01T12:00:00.000Z');
const screen = createStyle(false, { columns: 80, now: () => now, onCut: () => {} });
const pipe = createStyle(false);

describe('instants (CL-36)', () => {
  it.each([
    ['2026-05-01T11:59:55.000Z', 'now', 'now'],
    ['2026-05-01T12:00:04.000Z', 'now', 'now'],
    ['2026-05-01T11:59:20.000Z', '40 s ago', '40 s ago'],
    ['2026-05-01T11:56:55.123456Z', '3 min ago', '3 min 5 s ago'],
    ['2026-05-01T14:10:00Z', 'in 2 h', 'in 2 h 10 min'],
    ['2026-04-27T09:00:00.000Z', '4 d ago', '4 d 3 h ago'],
    ['2026-03-01T09:00:00.000Z', '2026-03-01', '61 d 3 h ago'],
    ['2027-05-01T12:00:00.000Z', '2027-05-01', 'in 365 d'],
  ])('%s is %s in a table of a terminal and %s beside the instant in details', (instant, short, long) => {
    expect(tableInstant(instant, screen)).toBe(short);
    const seconds = `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`;
    expect(detailInstant(instant, screen)).toBe(`${seconds} (${long})`);
    expect(logInstant(instant, screen)).toBe(seconds);
    for (const show of [tableInstant, detailInstant, logInstant]) expect(show(instant, pipe)).toBe(instant);
  });

  it.each(['', 'never', '2026-13-41T99:99:99Z', '2026-05-01', '2026-05-01T11:59:55+02:00', 'x2026-05-01T11:59:55Z'])(
    'leaves other text alone: %j',
    (text) => {
      for (const style of [screen, pipe]) for (const show of [tableInstant, detailInstant]) expect(show(text, style)).toBe(text);
    },
  );
});

describe('commands', () => {
  let api: FakeApi;
  beforeEach(async () => {
    api = await startFakeApi();
  });
  afterEach(() => api.close());
  const at = (terminal: boolean, ...argv: string[]) =>
    runSvc([...argv, '--no-color'], { environment: login(api.url), terminal, now: () => Date.parse('2026-05-01T11:15:40Z') });

  it('show relative times on a terminal, both on a page of details, and the text of the server elsewhere', async () => {
    const request = shown('pending').body;
    api
      .on(paths.show, { body: request })
      .on(paths.executions, { body: { executions: [] } })
      .on(paths.list, { body: { requests: [request], total: 1, limit: 50, offset: 0 } });
    const page = (await at(true, 'request', 'show', requestId)).stdout;
    expect(page).toMatch(/created +2026-05-01 09:15:30 UTC \(2 h ago\)\n/);
    expect(page).toMatch(/expires +2026-05-02 09:15:30 UTC \(in 21 h 59 min\)\n/);
    expect(page).toContain('bob approved for group:backend-team 2026-05-01 09:20:01 UTC (1 h 55 min ago): ok');
    const piped = (await at(false, 'request', 'show', requestId)).stdout;
    expect(piped).toMatch(/created +2026-05-01T09:15:30\.482Z\n/);
    expect(piped).toContain('bob approved for group:backend-team 2026-05-01T09:20:01.500Z: ok');
    expect((await at(true, 'request', 'list')).stdout).toContain(' 2 h ago ');
    expect((await at(false, 'request', 'list')).stdout).toContain(' 2026-05-01T09:15:30.482Z ');
    expect(JSON.parse((await at(true, 'request', 'list', '--json')).stdout).data.requests[0].created_at).toBe(request.created_at);
  });
});
