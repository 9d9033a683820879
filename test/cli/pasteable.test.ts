import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { pasteable } from '../../cli/pasteable.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { temporaryFolder } from '../support/processes.js';
import { runSvc, type SvcOptions } from './run-svc.js';
import { created, failedEnvelope, paths, requestId, runsAtOnce, shown } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const token = 'svc_00112233445566778899aabbccddeeff';

async function folderWith(file: string): Promise<string> {
  const directory = await temporaryFolder();
  mkdirSync(join(directory, 'my files'));
  const text = `default_database = "app"\n[server]\nurl = "${api.url}"\ntoken = "${token}"\n`;
  writeFileSync(join(directory, file), text, { mode: 0o600 });
  return directory;
}

const execute = async (file: string, argv: string[], options: SvcOptions = {}) => {
  api.on(paths.create, created('pending', { approvers: ['group:dba-team'] }));
  const directory = await folderWith(file);
  return runSvc([...argv, 'execute', '--no-preflight', '--yes', 'delete from parts where id = 1'], { directory, ...options });
};

it('a hint repeats the --config of the caller, in every mode (CL-13)', async () => {
  const file = ['--config', "my files/alice's.toml"];
  const again = String.raw`svc --config 'my files/alice'\''s.toml' request`;
  const hint = `${again} show ${requestId} says why; once it is approved: ${again} resume ${requestId}`;
  expect((await execute(file[1]!, file)).stderr).toContain(`hint: ${hint}\n`);
  const { stdout } = await execute(file[1]!, [...file, '--json']);
  expect(JSON.parse(stdout).error.hint).toBe(hint);
});

it('a hint names no file where the caller named none (CL-13)', async () => {
  const hint = `hint: svc request show ${requestId} says why; once it is approved: svc request resume ${requestId}\n`;
  expect((await execute('svc.toml', [])).stderr).toContain(hint);
  const environment = { SVC_CONFIG: 'alice.toml' };
  expect((await execute('alice.toml', [], { environment })).stderr).toContain(hint);
});

it('a hint names the database and the environment of the caller where the command is about these (CL-13)', async () => {
  const data = '{"applied_before_failure":["1"],"error":"migration cancelled"}';
  const envelope = failedEnvelope('migration cancelled').replace('"result_data":null', `"result_data":${data}`);
  runsAtOnce(api, envelope).on(paths.content, { body: envelope });
  api.on(paths.show, shown('failed', { operation: 'migrate_up' }));
  api.on(paths.executions, { body: { executions: [{ fence: 1, outcome: 'partial' }] } });
  const directory = await folderWith('svc.toml');
  mkdirSync(join(directory, 'migrations'));
  writeFileSync(join(directory, 'migrations', '1_users.sql'), '-- migrate:up\ncreate table users (id int);\n');
  const svc = (...argv: string[]) => runSvc([...argv, '--yes'], { directory });
  expect((await svc('migrate', 'up', '-e', 'production')).stderr).toContain('svc -e production migrate up continues from here\n');
  expect((await svc('migrate', 'up')).stderr).toContain('\nsvc migrate up continues from here\n');
  // Of a request that is followed later, its own.
  const followed = await svc('request', 'wait', requestId);
  expect(followed.stderr).toContain('\nsvc migrate up -d app -e production continues from here\n');
  api.on(paths.show, shown('execution_lost', { operation: 'migrate_up' }));
  expect((await svc('request', 'wait', requestId)).stderr).toContain('svc migrate status -d app -e production shows');
});

it('a note and a line of the answer can be pasted too (CL-13)', async () => {
  const directory = await folderWith('alice.toml');
  const svc = (...argv: string[]) => runSvc(['--config', 'alice.toml', '--yes', ...argv], { directory });
  api.on(paths.show, shown('executed'));
  expect((await svc('request', 'watch', requestId)).stderr).toContain(`svc --config alice.toml request result ${requestId}`);
  api.on(paths.show, shown('running'));
  api.on(paths.cancel, {
    status: 202,
    body: { id: requestId, status: 'running', cancel_requested: true },
  });
  expect((await svc('request', 'cancel', requestId)).stdout).toContain(`; svc --config alice.toml request wait ${requestId}\n`);
});

it('what an approver is shown stays as it was written, also where it looks like a command (HD-61)', async () => {
  const directory = await folderWith('bob.toml');
  const detail = 'select 1 -- svc request approve 1';
  api.on(paths.show, shown('pending', { detail }));
  api.on(paths.reject, { body: { id: requestId, status: 'rejected' } });
  const { stderr } = await runSvc(['--config', 'bob.toml', '--yes', 'request', 'reject', requestId], { directory });
  expect(stderr).toContain(detail);
});

it('commands that find the pair elsewhere do not repeat it', () => {
  const called = { database: 'shop', environment: "o'dd" };
  expect(pasteable('svc request list; svc schema', called)).toBe(String.raw`svc request list; svc -d shop -e 'o'\''dd' schema`);
});

it.each([
  ['svc login', 'svc --config a.toml login'],
  ['svc logout, then svc login', 'svc --config a.toml logout, then svc --config a.toml login'],
  // Each of these reads no file of the caller, or another one.
  ['svc evidence verify one.json', 'svc evidence verify one.json'],
  ['svc trust http://localhost', 'svc trust http://localhost'],
  ['svc server keys list shows them', 'svc server keys list shows them'],
  // Somebody else has a file of their own.
  ['an administrator makes a new one: svc user reissue-initial-token ID', null],
  [
    'ask an administrator: svc user activate ID; svc whoami',
    'ask an administrator: svc user activate ID; svc --config a.toml whoami',
  ],
  // No commands.
  ['svc needs the token of a user', null],
  ['make a schema svc that the role may use', null],
  ['see /usr/bin/svc login', null],
])('%s', (text, told) => {
  expect(pasteable(text, { config: 'a.toml' })).toBe(told ?? text);
});
