import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpStatus } from '../../api/errors.js';
import { allRoutes, defaultTimes } from '../../api/routes/index.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ times: { resultWaitMs: 50, cancelWaitMs: 50 } });
});
afterAll(() => api?.close());

const routes = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes);

const nasty = fc.constantFrom(
  '%00',
  '%zz',
  '..',
  '%2F',
  '%ED%A0%80',
  'null',
  '-1',
  '__proto__',
  '\ud83d\ude00',
  "'; drop table users; --",
);
const piece = fc.oneof(nasty, fc.string({ maxLength: 12 }).map(encodeURIComponent), fc.uuid());
const known = fc.constantFrom(
  'limit',
  'offset',
  'wait',
  'status',
  'since',
  'pending_for_me',
  'execution_id',
  'database',
  'event_type',
);
const query = fc
  .array(fc.tuple(known, piece), { maxLength: 3 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
const fieldNames = [
  'id',
  'roles',
  'groups',
  'subject_id',
  'subject_type',
  'scope_ceiling',
  'expires_at',
  'name',
  'database',
  'environment',
];
const moreNames = [
  'detail',
  'operation',
  'metadata',
  'share_with',
  'selector',
  'comment',
  'capabilities',
  'limit',
  'success',
  'result_data',
  'fence',
];
const body = fc.oneof(
  fc
    .dictionary(
      fc.constantFrom(...fieldNames, ...moreNames),
      fc.oneof(fc.jsonValue(), fc.constantFrom('\0', '\ud800', Number.MAX_VALUE)),
      {
        maxKeys: 6,
      },
    )
    .map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary' }),
);
const contentType = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  ';;',
);

const call = fc.record({
  route: fc.constantFrom(...routes),
  method: fc.option(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'), { freq: 6 }),
  ids: fc.array(piece, { minLength: 3, maxLength: 3 }),
  query,
  body,
  contentType,
  who: fc.constantFrom('fitting', 'fitting', 'fitting', 'admin', 'agent', 'nobody'),
});

/** HT-I1: the form of every answer. */
function check({ status, headers, text, body: parsed }: Answer): void {
  expect(headers.get('x-svc-version')).toBe('0.1.0');
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('cache-control')).toBe('no-store');
  if (status < 400) return;
  expect(Object.keys(parsed ?? {}).sort(), text).toEqual(['code', 'error', 'hint']);
  expect(httpStatus(parsed.code)).toBe(status);
}

it('answers every input in the form of the rules and never with a 5xx (HT-I1, HT-I2)', async () => {
  await fc.assert(
    fc.asyncProperty(call, async (input) => {
      const { route, who } = input;
      const fitting = route.access === 'agent' ? 'agent' : 'admin';
      const token = who === 'nobody' ? null : api.tokens[who === 'fitting' ? fitting : who];
      let next = 0;
      const path = route.path.replace(/:[a-z_]+/g, () => input.ids[next++] ?? 'x');
      const method = input.method ?? route.method.toUpperCase();
      const answer = await api.call(method, `${path}?${input.query.replace('wait=', 'x=')}`, {
        token,
        headers: { 'content-type': input.contentType },
        ...(method === 'GET' ? {} : { raw: input.body }),
      });
      check(answer);
      expect(
        answer.status,
        `${method} ${path}?${input.query} ${input.body} ${answer.text}\n${api.logged.filter((line) => line.includes('"error"')).at(-1)}`,
      ).toBeLessThan(500);
    }),
    { numRuns: 200, endOnFailure: false },
  );
});
