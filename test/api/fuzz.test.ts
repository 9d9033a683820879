import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { reasons } from '../../domain/errors.js';
import { httpStatus } from '../../runtime/http-errors.js';
import { type Answer, shopToml, startTestApi, type TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { storedState } from '../support/stored-state.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { isWait, type Operation, operationsOf, valueLike } from './openapi-input.js';
import { reach } from './reach-status.js';

/** The environment may say more. */
const fuzzMs = Number(process.env.SVC_TEST_FUZZ_SECONDS ?? share(5, 20)) * 1000;
/** No answer within it is a hang; what waits here waits for at most a second. */
const hangMs = 30_000;

const toml = shopToml.replace('[[auth.groups]]', '[preflight]\nmax_explain_timeout_ms = 100\n[[auth.groups]]');
const hosts = ['nobody', 'requester', 'approver', 'admin', 'agent', 'roleless', 'expired', 'junk'] as const;
type Who = (typeof hosts)[number];

let api: TestApi;
let operations: Operation[];
let known: string[];
let tokens: Record<Who, string | null>;
beforeAll(async () => {
  api = await startTestApi({ toml, times: { resultWaitMs: 20, cancelWaitMs: 20 } });
  const approver = await api.createUser('approver', { roles: ['requester'], groups: ['dba-team'] });
  const requester = await api.createUser('requester', { roles: ['requester'] });
  const roleless = await api.createUser('roleless');
  await api.createUser('victim', { roles: ['requester'], groups: ['dba-team'] });
  const expired = await api.createUser('expired', { roles: ['requester'] });
  await api.services.database.query(
    `update tokens set expires_at = clock_timestamp() - interval '1 s' where subject_id = 'expired'`,
  );
  const { admin, agent } = api.tokens;
  tokens = { nobody: null, junk: `svc_${'0'.repeat(32)}`, requester, approver, admin, agent, roleless, expired };
  const described = operationsOf((await api.call('GET', '/openapi.json', { token: admin })).body);
  // A stream of events has no end.
  operations = described.filter(({ path }) => path !== '/api/events');
  known = ['shop', 'staging', 'production', 'victim', ...(await storedIds(gatewayCalls(api)))];
});
afterAll(() => api?.close());

/** Requests of every status, and what hangs on them. */
async function storedIds(calls: GatewayCalls): Promise<string[]> {
  await calls.poll(['shop/production', 'shop/staging']);
  const ids: string[] = [];
  for (const to of Object.values(reach)) ids.push(await to(calls, { owner: tokens.requester!, approver: tokens.approver! }));
  const executions = await api.services.database.query<{ id: string }>('select id from executions');
  return [...ids, ...executions.map(({ id }) => id)];
}

interface Input {
  operation: Operation;
  method: string;
  url: string;
  who: Who;
  headers: Record<string, string>;
  body: string | null;
}

const who = fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...hosts) });
const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  { weight: 1, arbitrary: fc.constantFrom('application/json; charset=utf-8', 'text/plain', ';;', 'application/json; charset=x') },
);
const oddHeaders = fc.dictionary(
  fc.constantFrom('x-forwarded-for', 'accept', 'accept-encoding', 'content-encoding', 'origin', 'cookie', 'traceparent', 'range'),
  fc.constantFrom('', '*', 'gzip', '1.2.3.4, ::1, x', 'bytes=0-1', ';q=x', 'a'.repeat(500)),
  { maxKeys: 2 },
);

/** A call of one operation, most often as its document says, by somebody who may. */
function callOf(operation: Operation): fc.Arbitrary<Input> {
  const text = (name: string, schema: Operation['parameters'][number]['schema']) =>
    isWait(name)
      ? fc.constantFrom('0', '1', 'x')
      : valueLike(schema, known).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  const of = (place: 'path' | 'query'): fc.Arbitrary<[string, string][]> =>
    fc.tuple(
      ...operation.parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, schema }) => fc.tuple(fc.constant(name), text(name, schema))),
    );
  const chosen = of('query').chain(
    (all): fc.Arbitrary<readonly [string, string][]> => fc.oneof(fc.subarray(all), fc.constant([...all, ...all.slice(0, 1)])),
  );
  const json =
    operation.body === null ? fc.constant(null) : valueLike(operation.body, known).map((value) => JSON.stringify(value));
  const body = fc.oneof(
    { weight: 10, arbitrary: json },
    { weight: 1, arbitrary: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('{"a":')) },
  );
  return fc.record({ path: of('path'), query: chosen, who, contentType, oddHeaders, body }).map((parts) => {
    const names = parts.path.reduce((path, [name, value]) => path.replace(`{${name}}`, encoded(value) || 'x'), operation.path);
    const search = parts.query.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
    const hasBody = parts.body !== null && operation.method !== 'GET';
    return {
      operation,
      method: operation.method,
      url: search === '' ? names : `${names}?${search}`,
      who: parts.who ?? (operation.forAgents ? 'agent' : operation.path.startsWith('/api/requests') ? 'requester' : 'admin'),
      headers: { ...parts.oddHeaders, ...(hasBody ? { 'content-type': parts.contentType } : {}) },
      body: hasBody ? parts.body : null,
    };
  });
}

/** Neither a lone surrogate nor a segment of dots can stand in a URL. */
const encoded = (text: string) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '')).replace(/^\.+$/, 'x');

/** The call again, for a shell with the variables URL and TOKEN. */
function script({ method, url, who: caller, headers, body }: Input): string {
  const quote = (value: string) => `'${value.replaceAll("'", "'\\''")}'`;
  const lines = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  if (tokens[caller] !== null) lines.unshift(`-H "Authorization: Bearer $TOKEN"   # ${caller}`.replace(/ {3}#.*/, ''));
  const send = body === null ? '' : `base64 -d <<<${Buffer.from(body).toString('base64')} | `;
  return `# as ${caller}\n${send}curl -sS -i -X ${method} ${lines.join(' ')}${body === null ? '' : ' --data-binary @-'} "$URL"${quote(url)}`;
}

async function run(input: Input): Promise<void> {
  const before = input.who === 'agent' ? null : await fingerprint();
  const answer = await api.call(input.method, input.url, {
    token: tokens[input.who],
    headers: input.headers,
    ...(input.body === null ? {} : { raw: input.body }),
    signal: AbortSignal.timeout(hangMs),
  });
  try {
    check(input, answer);
    if (before !== null && answer.status >= 400)
      expect(await fingerprint(), 'a refused call changed something (HT-I3)').toBe(before);
  } catch (error) {
    throw new Error(`${script(input)}\n# ${answer.status} ${answer.text.slice(0, 500)}\n${String(error)}`);
  }
}

/** HT-I1, HT-I2, and what the document says of this operation. */
function check({ operation, method }: Input, { status, headers, text, body }: Answer): void {
  expect(headers.get('x-svc-version')).toBe('0.1.0');
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('cache-control')).toBe('no-store');
  if (operation.path !== '/ready') expect(status).toBeLessThan(500);
  const declared = method === operation.method ? operation.answers[status] : undefined;
  if (method === operation.method) expect(Object.keys(operation.answers)).toContain(String(status));
  if (status >= 400) {
    const { reason, ...rest } = (body ?? {}) as Record<string, unknown>;
    expect(Object.keys(rest).toSorted(), text).toEqual(['code', 'error', 'hint']);
    if (reason !== undefined) expect(reasons).toContain(reason);
    expect(httpStatus(body.code)).toBe(status);
    if (declared !== undefined) expect(declared.codes).toContain(body.code);
    return;
  }
  if (status === 204) return void expect(text).toBe('');
  if (declared?.schema) expect(schemaOf(declared.schema).safeParse(body).error?.issues ?? []).toEqual([]);
}

const schemas = new Map<unknown, z.ZodType>();
function schemaOf(schema: object): z.ZodType {
  const made = schemas.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  schemas.set(schema, made);
  return made;
}

/** Everything that is stored except audit events and counters of calls. */
const fingerprint = () => storedState(api.services.database, ['audit_events', 'rate_windows']);

it('answers every operation for every kind of caller as its document says', async () => {
  for (const operation of operations)
    for (const caller of share(fc.sample(fc.constantFrom(...hosts), 2), [...hosts]))
      for (const input of fc.sample(callOf(operation), 1)) await run({ ...input, who: caller });
}, 300_000);

it(
  'answers every input in the form of the rules and of its document, never with a 5xx, and a refused call changes nothing (HT-I1 to HT-I3)',
  async () => {
    const methods = fc.option(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'), { freq: 12 });
    const input = fc
      .tuple(fc.constantFrom(...operations).chain(callOf), methods)
      .map(([call, method]) => (method === null ? call : { ...call, method, body: method === 'GET' ? null : call.body }));
    // A limit of fast-check fails if a busy machine does not end the first run within it.
    const until = Date.now() + fuzzMs;
    do await fc.assert(fc.asyncProperty(input, run), { numRuns: 10 });
    while (Date.now() < until);
  },
  fuzzMs * 2 + 300_000,
);
