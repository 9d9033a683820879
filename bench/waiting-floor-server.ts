import { createServer } from 'node:http';
import Koa from 'koa';
import { sleep } from '../lib/sleep.js';

/** Answers each call after `FLOOR_WAIT_MS`, by koa or by node:http alone, with as many bytes as a request has. */
const waitMs = Number(process.env.FLOOR_WAIT_MS);
const answer = { status: 'pending', detail: 'x'.repeat(2000) };

const koa = new Koa().use(async (ctx) => {
  await sleep(waitMs);
  ctx.body = answer;
});
const bare = createServer((_request, response) =>
  setTimeout(() => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer)), waitMs),
);
const server = process.env.FLOOR_KIND === 'koa' ? createServer(koa.callback()) : bare;
server.listen(Number(process.env.FLOOR_PORT), '127.0.0.1');
