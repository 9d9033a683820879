import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { callApi } from './api-call.js';
import { clone, type Layout } from './layout.js';
import type { Report } from './report.js';
import { paste, shownPath } from './shell.js';
import { userToken } from './users.js';

export interface Stage {
  layout: Layout;
  serverUrl: string;
  uiUrl: string | null;
  signal: AbortSignal;
  report: Report;
  /** Who can log in at the identity provider; none without one. */
  people: readonly { name: string; password: string }[];
}

const commandWaitMs = 90_000;
const update = 'update products set price_cents = price_cents + 100 where id = 7';
const secondUpdate = `update orders set status = 'shipped' where id = 11`;
const select = 'select id, name, price_cents, stock from products order by id limit 5';

/**
 * Plays one change from request to result with `svc` itself (DV-9); prints each command and its output. Throws at the first
 * failed step. Safe to interrupt and repeat: its idempotency keys are fixed, and finished steps are not repeated.
 */
export async function play(stage: Stage): Promise<void> {
  const { report } = stage;
  report.line('\nA change to production data needs approval from the DBA team. Alice asks:');
  const asked = await svc(
    stage,
    'alice',
    ['execute', update, '-e', 'production', '--reason', 'new list price', ...key('price')],
    [0, 2],
  );
  const id = requestIdIn(asked);
  await approve(stage, id);
  const result = await letRun(stage, id);
  if (!result.includes('Rows affected: 1')) throw new Error('the update did not report one row');

  report.line('\nEvery step is in the audit log:');
  const log = await svc(stage, 'admin', ['audit', 'list', '--request', id], [0]);
  if (!log.includes('request.approved')) throw new Error('the audit log does not show the approval');
  if (stage.uiUrl !== null) report.line(`\nIts workflow: ${stage.uiUrl}/namespaces/default/workflows/request-${id}`);

  report.line('\nLow-risk SQL runs on staging without approval:');
  const rows = await svc(stage, 'alice', ['execute', select], [0]);
  if (!rows.includes('(5 rows)')) throw new Error('the select did not answer five rows');

  report.line('\nOne more request, which waits for Bob:');
  await svc(
    stage,
    'alice',
    ['execute', secondUpdate, '-e', 'production', '--reason', 'parcel has left', ...key('parcel')],
    [0, 2],
  );
}

async function approve(stage: Stage, id: string): Promise<void> {
  if ((await statusOf(stage, id)) !== 'pending') return;
  stage.report.line('\nBob is on the DBA team. He reads it and approves:');
  await svc(stage, 'bob', ['request', 'show', id], [0]);
  await svc(stage, 'bob', ['request', 'approve', id, '--comment', 'agreed'], [0]);
}

/**
 * After an earlier play was killed here, the request may still run, or its agent may be lost: a resume then finds what was
 * committed.
 */
async function letRun(stage: Stage, id: string): Promise<string> {
  stage.report.line('\nAlice runs it and sees the result:');
  if (['dispatched', 'running'].includes(await statusOf(stage, id))) await svc(stage, 'alice', ['request', 'wait', id], [0, 1]);
  const command = ['approved', 'execution_lost'].includes(await statusOf(stage, id)) ? 'resume' : 'result';
  return svc(stage, 'alice', ['request', command, id], [0]);
}

function key(name: string): string[] {
  return ['--idempotency-key', `demo-${name}`];
}

/** Runs a user's command and prints it with its output; throws when its exit code is not one of `expected`. */
async function svc(stage: Stage, user: 'alice' | 'bob' | 'admin', args: string[], expected: number[]): Promise<string> {
  // As it is shown: hints name it again.
  const config = shownPath(join(stage.layout.data, `${user}.toml`));
  stage.report.line(`\n$ npx svc --config ${[config, ...args].map(paste).join(' ')}`);
  const { code, output } = await run(['--config', config, '--yes', ...args], stage.signal);
  stage.report.line(output.trimEnd());
  if (!expected.includes(code)) throw new Error(`the command above ended with exit code ${code}`);
  return output;
}

function run(args: string[], signal: AbortSignal): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [join(clone, 'bin', 'svc'), ...args], {
    cwd: clone,
    env: environmentOfUser(),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: commandWaitMs,
    signal,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** The caller's environment may hold settings of `svc` for another gateway. */
function environmentOfUser(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_')));
}

function requestIdIn(output: string): string {
  const id = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(output)?.[0];
  if (id === undefined) throw new Error('the answer names no request');
  return id;
}

async function statusOf(stage: Stage, id: string): Promise<string> {
  const answer = await callApi(
    { server: stage.serverUrl, token: userToken(stage.layout, 'alice') },
    'GET',
    `/api/requests/${id}`,
  );
  return String(answer.body.status);
}
