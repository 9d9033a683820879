import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { loadConfig } from '../../config/index.js';
import { freePort } from '../../dev/ports.js';
import { temporaryFolder } from '../support/processes.js';
import { runSvc } from './run-svc.js';

const names = ['agent.toml', 'server.toml', 'svc.toml'];
const read = (folder: string, name: string) => readFileSync(join(folder, name), 'utf8');

describe('svc init (cli.md section 6)', () => {
  it('writes three files that their programs read without errors or warnings, given the variables (CF-I7)', async () => {
    const directory = await temporaryFolder();
    const { code, stdout } = await runSvc(['init', '--output-dir', 'here'], { directory });
    expect([code, stdout]).toEqual([0, 'wrote here/svc.toml\nwrote here/server.toml\nwrote here/agent.toml\n']);
    const folder = join(directory, 'here');
    expect(readdirSync(folder).toSorted()).toEqual(names);
    const loaded = loadConfig(join(folder, 'server.toml'), { SVC_DATABASE_URL: 'postgres://svc@localhost/svc' });
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    const pairs = loaded.ok
      ? loaded.config.shared.databases.flatMap(({ name, environments }) => environments.map((one) => [name, one]))
      : [];
    const url = 'postgres://shop@localhost/shop';
    const environment = { SHOP_DEVELOPMENT_URL: url, SHOP_PRODUCTION_URL: url };
    writeFileSync(join(directory, 'token'), 'svc_00112233445566778899aabbccddeeff\n', { mode: 0o600 });
    const agentFile = join(directory, 'agent.toml');
    writeFileSync(agentFile, read(folder, 'agent.toml').replace('state/agent-token', 'token'));
    const agent = loadAgentConfig(agentFile, environment);
    expect(agent.databases.map(({ database, environment: name }) => [database, name])).toEqual(pairs);
    const told = await runSvc(['whoami', '--config', join(folder, 'svc.toml')], { directory });
    expect(told.stderr).not.toMatch(/unknown key|warning/);
  });

  it('tells where its next steps work, because svc trust reads the svc.toml of its own folder', async () => {
    const directory = await temporaryFolder();
    const { stderr } = await runSvc(['init', '--output-dir', 'here'], { directory });
    expect(stderr).toMatch(/^Next, in here and /m);
    expect(stderr).not.toContain('here/');
    const trust = (folder: string) => runSvc(['trust', 'http://127.0.0.1:3000'], { directory: folder });
    expect([(await trust(directory)).code, (await trust(join(directory, 'here'))).code]).toEqual([1, 0]);
    expect((await runSvc(['init'], { directory })).stderr).toMatch(/^Next, each program /m);
  });

  it('reads the address for the agent from a variable that svc does not read', async () => {
    const directory = await temporaryFolder();
    await runSvc(['init'], { directory });
    const variables = [...read(directory, 'agent.toml').matchAll(/^[^#\n]*\$\{(\w+)/gm)].map(([, name]) => name!);
    expect(variables).toContain('SVC_AGENT_SERVER_URL');
    mkdirSync(join(directory, 'state'));
    writeFileSync(join(directory, 'state', 'admin-token'), 'svc_00112233445566778899aabbccddeeff\n', { mode: 0o600 });
    const environment = Object.fromEntries(variables.map((name) => [name, 'http://127.0.0.1:1']));
    // Where the machine has no gateway of its own.
    const address = `http://127.0.0.1:${await freePort()}`;
    const file = read(directory, 'svc.toml');
    expect(file).toContain('http://127.0.0.1:3000');
    writeFileSync(join(directory, 'svc.toml'), file.replace('http://127.0.0.1:3000', address));
    const { error } = JSON.parse((await runSvc(['whoami', '--json'], { directory, environment })).stdout);
    expect(error.code).toBe('network_error');
    expect(error.message).toContain(address);
  });

  it('writes over nothing without --force, and tells what is there before it writes anything', async () => {
    const directory = await temporaryFolder();
    writeFileSync(join(directory, 'agent.toml'), 'mine');
    const refused = await runSvc(['init'], { directory });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/agent\.toml already exists; nothing was written/);
    expect(readdirSync(directory)).toEqual(['agent.toml']);
    expect((await runSvc(['init', '--force'], { directory })).code).toBe(0);
    expect(read(directory, 'agent.toml')).toContain('[server]');
    const again = await runSvc(['init', '--json'], { directory });
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: false, error: { code: 'config_error' } });
  });

  it('with --dry-run shows the files and writes none', async () => {
    const directory = await temporaryFolder();
    const shown = await runSvc(['init', '--dry-run'], { directory });
    expect(shown.code).toBe(0);
    expect(shown.stdout).toContain('--- server.toml\n# The gateway');
    const json = await runSvc(['init', '--dry-run', '--json'], { directory });
    const { texts, ...data } = JSON.parse(json.stdout).data;
    expect(data).toEqual({ dry_run: true, files: ['svc.toml', 'server.toml', 'agent.toml'] });
    expect(shown.stdout).toBe(data.files.map((path: string) => `--- ${path}\n${texts[path]}`).join(''));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('with --dry-run shows them beside files that are there, to compare', async () => {
    const directory = await temporaryFolder();
    writeFileSync(join(directory, 'agent.toml'), 'mine');
    const { code, stdout } = await runSvc(['init', '--dry-run'], { directory });
    expect([code, stdout]).toEqual([0, expect.stringContaining('--- agent.toml\n# The agent')]);
    expect(read(directory, 'agent.toml')).toBe('mine');
  });

  it('says which file cannot be written', async () => {
    const directory = await temporaryFolder();
    writeFileSync(join(directory, 'file'), '');
    const refused = await runSvc(['init', '--output-dir', 'file/below'], { directory });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/below cannot be written \((a file stands where a folder should be|it is there already)\)/),
    ]);
  });
});
