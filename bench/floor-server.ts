import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { json } from 'node:stream/consumers';
import Koa, { type Context } from 'koa';
import pg from 'pg';
import { createBell } from '../lib/bell.js';
import { statements } from './floor-statements.js';

/**
 * The server of the floor: the five calls of one auto-approved read, with the durable steps of the gateway and nothing else. It
 * judges neither SQL nor policy and signs nothing. Nobody takes its news, since no read waits for that.
 */
const pool = new pg.Pool({ connectionString: process.env.FLOOR_DATABASE, max: 10 });
const wakeUps = new EventEmitter().setMaxListeners(0);
const streamWaitMs = 60_000;

const calls: [method: string, path: RegExp, handle: (ctx: Context, id: string) => Promise<object>][] = [
  ['POST', /^\/api\/requests$/, create],
  ['GET', /^\/api\/requests\/([^/]+)\/result\/stream$/, stream],
  ['POST', /^\/api\/agent\/poll$/, poll],
  ['POST', /^\/api\/agent\/jobs\/([^/]+)\/claim$/, claim],
  ['POST', /^\/api\/agent\/jobs\/([^/]+)\/result$/, keep],
];

new Koa().use(answer).listen(Number(process.env.FLOOR_PORT), '127.0.0.1');

async function answer(ctx: Context): Promise<void> {
  try {
    for (const [method, path, handle] of calls) {
      const match = method === ctx.method ? path.exec(ctx.path) : null;
      if (match !== null) ctx.body = await handle(ctx, match[1] ?? '');
    }
  } catch (error) {
    if (!(error instanceof Koa.HttpError)) process.stderr.write(`${String(error)}\n`);
    ctx.status = error instanceof Koa.HttpError ? error.status : 500;
    ctx.body = { error: String(error) };
  }
}

async function create(ctx: Context) {
  const { database, environment, detail } = await bodyOf(ctx);
  const caller = await readFor(ctx, 'readCaller');
  const id = randomUUID();
  await run('create', id, caller.subject, database, environment, detail, digestOf({ database, environment, detail }));
  wakeUps.emit('jobs');
  ctx.status = 201;
  return { id };
}

async function stream(ctx: Context, id: string) {
  const found = await untilFound(id, streamWaitMs, async () => {
    const state = await readFor(ctx, 'readResult', id);
    ctx.assert(state.requester === state.subject, 404);
    return state.content === null ? null : { success: true, execution_id: state.execution_id, result_data: state.content };
  });
  ctx.assert(found, 504);
  return found;
}

async function poll(ctx: Context) {
  const { limit, wait_ms: waitMs } = await bodyOf(ctx);
  const found = await untilFound('jobs', waitMs, async () => {
    const { jobs } = await readFor(ctx, 'readJobs', limit);
    return jobs.length > 0 ? { jobs } : null;
  });
  return found ?? { jobs: [] };
}

async function claim(ctx: Context, id: string) {
  const { claim_id: claimId } = await bodyOf(ctx);
  const state = await readFor(ctx, 'readToClaim', id);
  ctx.assert(state.status === 'dispatched' && state.digest === digestOf(state), 409);
  const executionId = randomUUID();
  await move(ctx, 'claim', id, state.version, state.subject, executionId, claimId);
  return { execution_id: executionId, fence: state.fence, detail: state.detail };
}

async function keep(ctx: Context, executionId: string) {
  const { fence, duration_ms: durationMs, result_data: content } = await bodyOf(ctx);
  const state = await readFor(ctx, 'readToKeep', executionId);
  ctx.assert(state.agent === state.subject && state.fence === fence && state.status === 'running', 409);
  await move(ctx, 'keep', state.id, state.version, state.subject, executionId, durationMs, content, sha256(content));
  wakeUps.emit(state.id);
  return { status: 'executed' };
}

/** What the call needs to know, if its credential is valid. */
async function readFor(ctx: Context, name: keyof typeof statements, ...values: unknown[]) {
  const [found] = await run(name, sha256(ctx.get('authorization').slice('Bearer '.length)), ...values);
  ctx.assert(found, 401);
  return found;
}

async function move(ctx: Context, name: keyof typeof statements, ...values: unknown[]): Promise<void> {
  const [moved] = await run(name, ...values);
  ctx.assert(moved, 409);
}

const run = async (name: keyof typeof statements, ...values: unknown[]) =>
  (await pool.query({ name, text: statements[name], values })).rows;

/** Looks now and after each wake-up. It listens before it looks, so that it misses none. */
async function untilFound<T>(topic: string, waitMs: number, look: () => Promise<T | null>): Promise<T | null> {
  const bell = createBell();
  const deadline = performance.now() + waitMs;
  wakeUps.on(topic, bell.ring);
  try {
    let found = await look();
    while (found === null && (await bell.wait(deadline - performance.now()))) found = await look();
    return found;
  } finally {
    wakeUps.off(topic, bell.ring);
  }
}

/** The callers are our own: their bodies have the right shape. */
const bodyOf = (ctx: Context) => json(ctx.req) as Promise<ReturnType<typeof JSON.parse>>;

const digestOf = (stored: { database: string; environment: string; detail: string }) =>
  sha256(JSON.stringify([stored.database, stored.environment, stored.detail]));

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
