import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { main } from '../../agent/main.js';
import { startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase } from '../support/postgres.js';

afterEach(() => {
  vi.restoreAllMocks();
});

async function call(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  const code = await main(argv);
  vi.restoreAllMocks();
  return { code, out, err };
}

describe('svc-agent', () => {
  it('prints version, help and marker statements', async () => {
    expect(await call('-v')).toMatchObject({ code: 0, out: 'svc-agent 0.1.0\n' });
    const help = (await call('--help')).out;
    expect(help).toContain('Usage: svc-agent');
    expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await call('--print-marker-ddl', 'postgresql')).out).toContain(
      'PRIMARY KEY (request_id, fence, step, execution_id));',
    );
    expect((await call('--print-marker-ddl', 'mysql')).out).toContain('ENGINE=InnoDB');
  });

  it('exits with 2 for a bad command line and 1 for a bad configuration', async () => {
    const bad = async (...argv: string[]) => {
      const { code, err } = await call(...argv);
      return [code, err];
    };
    const told = (what: string) => [2, `svc-agent: ${what}\nhint: svc-agent --help\n`];
    expect(await bad('--nope')).toEqual(told('unknown option --nope'));
    expect(await bad('--chek')).toEqual(told('unknown option --chek (did you mean --check?)'));
    expect(await bad('agent.toml')).toEqual(told("unexpected argument 'agent.toml'"));
    expect(await bad('--config')).toEqual(told('--config needs a value'));
    expect(await call('--print-marker-ddl', 'oracle')).toMatchObject({ code: 2 });
    const missing = await call('--config', '/nonexistent/agent.toml');
    expect(missing).toMatchObject({ code: 1, err: 'svc-agent: /nonexistent/agent.toml: no such file\n' });
  });

  it('prints a statement that an operator can run for a role with no more than four rights (AP-50, AP-51)', async () => {
    const [database, gateway] = [await createEmptyDatabase(), await startFakeGateway()];
    const directory = mkdtempSync(join(tmpdir(), 'svc-agent-ddl-'));
    const file = join(directory, 'agent.toml');
    const role = `four_rights_${Date.now()}`;
    const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).href;
    const server = `[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"`;
    writeFileSync(file, `${server}\n[databases.shop.staging]\nurl = "${url}"\n`);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const markers = async () => (await call('--check', '--config', file)).out.split('markers: ')[1];
    try {
      await client.query(`create role ${role} login password 'x'`);
      expect(await markers()).toBe('the marker table does not exist, and the role lacks CREATE on schema public\n');
      await client.query((await call('--print-marker-ddl', 'postgresql')).out);
      expect(await markers()).toBe('permission denied for schema svc (SQLSTATE 42501)\n');
      await client.query(
        `grant usage on schema svc to ${role}; grant select, insert, update, delete on svc.svc_execution_marker to ${role}`,
      );
      expect(await markers()).toBe('ok\n');
      expect((await client.query('select * from svc.svc_execution_marker')).rows).toEqual([]);
    } finally {
      await client.query(`drop owned by ${role}; drop role ${role}`);
      await client.end();
      await gateway.close();
      await database.drop();
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it('checks server, databases and markers and changes nothing', async () => {
    const [database, gateway] = [await createEmptyDatabase(), await startFakeGateway()];
    const directory = mkdtempSync(join(tmpdir(), 'svc-agent-check-'));
    const file = join(directory, 'agent.toml');
    const nowhere = Object.assign(new URL(database.url), { port: '1' }).href;
    const write = (url: string) =>
      writeFileSync(
        file,
        `[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"\n[databases.shop.staging]\nurl = "${url}"\n`,
      );
    write(database.url);
    const checked = await call('--check', '--config', file);
    expect(checked).toMatchObject({
      code: 0,
      out: 'server: ok, 1 public key\ndatabase shop/staging: ok, markers: the marker table does not exist; the agent makes it at its start\n',
    });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    expect((await client.query("select to_regnamespace('svc') as t")).rows).toEqual([{ t: null }]);
    await client.end();
    write(nowhere);
    expect(await call('--check', '--config', file)).toMatchObject({
      code: 1,
      out: 'server: ok, 1 public key\ndatabase shop/staging: connection failed: ECONNREFUSED, connection refused\n',
    });
    expect(gateway.polls).toEqual([]);
    await gateway.close();
    await database.drop();
    rmSync(directory, { recursive: true, force: true });
  });
});
