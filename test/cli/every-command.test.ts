import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientCommands } from '../../cli/program.js';
import { temporaryFolder } from '../support/processes.js';
import { login, runSvc } from './run-svc.js';
import { requestId, twoRows } from './samples.js';

const lists =
  'requests users tokens groups roles members databases agents webhooks deliveries events workflows execution_policies result_policies sql_review_policies notification_policies executions results tables resolutions approvers';

/** What every call is answered: enough for each command to find what it looks for. */
const answer = {
  ...Object.fromEntries(lists.split(' ').map((key) => [key, []])),
  id: requestId,
  status: 'executed',
  operation: 'execute_select',
  subject_id: 'alice',
  delivery_id: 'wd-1',
  token: 'svc_00112233445566778899aabbccddeeff',
  database: 'app',
  environment: 'production',
  detail: 'select 1',
  code: 'c0de',
  registered: true,
  valid: true,
  total: 0,
  warnings: ['a warning of the server'],
};

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const isResult = /\/result\/(stream|content)/.test(request.url ?? '');
    const status = request.method === 'POST' && request.url === '/api/tokens' ? 201 : 200;
    response.writeHead(status, { 'content-type': 'application/json', 'x-svc-version': '0.1.0' });
    request.resume().on('end', () => void response.end(isResult ? twoRows : JSON.stringify(answer)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
const wordsOf = (command: Command): string[] => (command.parent === null ? [] : [...wordsOf(command.parent), command.name()]);

/**
 * Standard output belongs to MCP, the shell is for people, a doctor finds these answers wrong (`doctor.test.ts`); the others run on the gateway's host
 * (`host.test.ts`).
 */
const others = ['mcp', 'shell', 'doctor', 'server', 'worker', 'dev', 'config'];
const commands = leavesOf(clientCommands()).filter((command) => !others.includes(wordsOf(command)[0]!));

const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];

it('the help of every command fits a terminal of 80 columns', () => {
  const wide = all(clientCommands()).flatMap((command) =>
    command
      .helpInformation()
      .split('\n')
      .flatMap((line) => (line.length > 80 ? [`${command.name()}: ${line}`] : [])),
  );
  expect(wide).toEqual([]);
});

const samples: Record<string, string> = {
  id: requestId,
  sql: 'select 1',
  name: 'add_it',
  shell: 'bash',
  database: 'shop',
  environment: 'staging',
  file: 'none.json',
  delivery: 'wd-1',
  key: 'no-key',
  output: 'out.json',
  out: 'key.pem',
  plan: 'team',
  to: 'x',
  expires: '1d',
  serverUrl: 'https://gate.example.com',
};

/** What some commands need in addition. */
const more: Record<string, string[]> = {
  'migrate repair': ['--action', 'remove', '--version', '20260101000000', '--emergency', '--reason', 'r'],
  'user update': ['--add-role', 'requester'],
  'audit export': ['--output', 'events.ndjson'],
};

/** The command with a value for everything that it requires. */
function lineOf(command: Command): string[] {
  const required = command.registeredArguments.filter((one) => one.required || one.name() === 'sql').map((one) => one.name());
  const mandatory = command.options.filter((option) => option.mandatory && option.defaultValue === undefined);
  const options = mandatory.flatMap((option) => [option.long!, samples[option.attributeName()]!]);
  return [
    ...wordsOf(command),
    ...required.map((name) => samples[name]!),
    ...options,
    ...(more[wordsOf(command).join(' ')] ?? []),
    '--yes',
  ];
}

async function run(argv: string[], mode: 'json' | 'quiet') {
  const directory = await temporaryFolder();
  const made = await runSvc(['migrate', 'create', 'first'], { directory });
  expect(made.code).toBe(0);
  return runSvc([...argv, '--format', mode], {
    directory,
    environment: { ...login(url), HOME: join(directory, 'home') },
    stdin: '',
  });
}

describe('every command (CL-I2)', { shuffle: false }, () => {
  const succeeded = new Set<string>();

  it.each(commands.map((command) => [wordsOf(command).join(' '), lineOf(command)] as const))(
    '%s prints one line of JSON with --format json, and nothing else with quiet',
    async (name, argv) => {
      for (const mode of ['json', 'quiet'] as const) {
        const { code, stdout, stderr } = await run(argv, mode);
        expect(stdout).toMatch(/^[^\n]+\n$/);
        const line = JSON.parse(stdout);
        expect(line.ok).toBe(code === 0);
        if (line.ok) succeeded.add(name);
        expect(stderr).toEqual(mode === 'quiet' || line.ok ? '' : expect.stringMatching(/^(error|waiting): /));
        expect(line).toHaveProperty('data');
        // These get no file that they could read.
        if (!/^(evidence verify|license)/.test(name)) expect(line.error?.code).not.toBe('usage');
      }
    },
  );

  it('were run to their end, most of them', () => {
    expect(succeeded.size).toBeGreaterThan(commands.length * 0.7);
  });
});
