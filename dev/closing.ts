import { join } from 'node:path';
import { callApi } from './api-call.js';
import type { Stage } from './play.js';
import { underLocalhost } from './ports.js';
import { paste, shownPath } from './shell.js';
import { userToken } from './users.js';

/** The text for a running demo: where things are, and commands to paste as they are (DV-10); `atEnd` says what Ctrl-C does. */
export async function closingText(stage: Stage, atEnd: string): Promise<string> {
  const lines = ['', `The gateway runs at ${underLocalhost(stage.serverUrl)}`];
  if (stage.uiUrl !== null) lines.push(`Temporal UI        ${stage.uiUrl}`);
  lines.push(`Logs               ${shownPath(stage.layout.run)}`, ...consoleLines(stage));
  lines.push('', 'Or try:');
  for (const words of await commands(stage)) lines.push(`  ${words.map(paste).join(' ')}`);
  lines.push(...loginLines(stage), '', atEnd);
  return lines.join('\n');
}

/** A link that signs somebody in is good for a minute only (CO-33), so what makes one is printed. */
function consoleLines({ layout }: Stage): string[] {
  const open = (user: string) => `  npx svc --config ${paste(shownPath(join(layout.data, `${user}.toml`)))} console`;
  return [
    '',
    'Open the web console from this folder, in another terminal: as alice, who asks, and as bob, who approves:',
    open('alice'),
    open('bob'),
  ];
}

/** What to type where an identity provider runs (DV-14). */
function loginLines({ layout, people }: Stage): string[] {
  if (people.length === 0) return [];
  const svc = `  npx svc --config ${paste(shownPath(join(layout.data, 'login.toml')))}`;
  const typed = people.map(({ name, password }) => `${name} with ${password}`).join(', or ');
  return ['', `Log in as ${typed}:`, `${svc} login`, `${svc} login --device`, `${svc} whoami`, `${svc} logout`];
}

async function commands(stage: Stage): Promise<string[][]> {
  const as = (user: string, ...words: string[]) => [
    'npx',
    'svc',
    '--config',
    shownPath(join(stage.layout.data, `${user}.toml`)),
    ...words,
  ];
  const change = `update customers set city = 'Bruges' where id = 12`;
  const waiting = await waitingRequest(stage);
  return [
    as('alice', 'whoami'),
    as('alice', 'execute', 'select status, count(*) from orders group by status'),
    as('alice', 'preflight', change),
    as('alice', '--yes', 'execute', change),
    as('bob', 'request', 'list', '--pending-for-me'),
    ...(waiting === null ? [] : [as('bob', 'request', 'approve', waiting), as('alice', 'request', 'resume', waiting)]),
    as('alice', 'request', 'list'),
    as('admin', 'audit', 'list', '--limit', '20'),
  ];
}

/** The id of a request of alice that waits for approval, or null. */
async function waitingRequest(stage: Stage): Promise<string | null> {
  const alice = { server: stage.serverUrl, token: userToken(stage.layout, 'alice') };
  const { body } = await callApi(alice, 'GET', '/api/requests?status=pending&limit=1');
  const [first] = Array.isArray(body.requests) ? body.requests : [];
  return typeof first?.id === 'string' ? first.id : null;
}
