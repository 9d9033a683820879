import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { serverToml } from '../../cli/init/server-toml.js';
import { planDemo, planGiven, readGivenConfig } from '../../dev/gateway-plan.js';
import { clone, layoutOf } from '../../dev/layout.js';
import { loadPasswords } from '../../dev/passwords.js';
import type { PostgresServer } from '../../dev/postgres.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-given-'));
  file = join(folder, 'server.toml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const own = '[database]\nurl = "postgres://gateway@db.example/gateway"\n[temporal]\naddress = "temporal.example:7233"\n';

describe('svc dev with a given server.toml (DV-2)', () => {
  it('takes embedded engines where the file names none', () => {
    writeFileSync(file, 'state_dir = "state"\n');
    expect(readGivenConfig(file).needs).toEqual({ postgres: true, temporal: true });
    const { environment } = planGiven(readGivenConfig(file), 'postgres://embedded', null);
    expect(environment.SVC_DEV_DATABASE_URL).toBe('postgres://embedded');
  });

  it('takes them for the file of `svc init` without the lines that docs/installing.md takes out', () => {
    const page = readFileSync(join(clone, 'docs/installing.md'), 'utf8');
    const [, command] = /^ *\$ (sed .*) \.\.\/try\/server\.toml$/m.exec(page)!;
    writeFileSync(file, serverToml);
    execFileSync('sh', ['-c', `${command} '${file}'`]);
    expect(readGivenConfig(file).needs).toEqual({ postgres: true, temporal: true });
  });

  it('takes those that it names', () => {
    writeFileSync(file, `state_dir = "state"\n${own}`);
    expect(readGivenConfig(file).needs).toEqual({ postgres: false, temporal: false });
    expect(planGiven(readGivenConfig(file), null, null).environment.SVC_DEV_DATABASE_URL).toBeUndefined();
  });

  it('runs an agent only when an agent.toml lies beside it', () => {
    writeFileSync(file, `state_dir = "state"\n${own}`);
    expect(planGiven(readGivenConfig(file), null, null).agent).toBeNull();
    writeFileSync(join(folder, 'agent.toml'), '');
    expect(planGiven(readGivenConfig(file), null, null).agent).toMatchObject({ config: join(folder, 'agent.toml') });
  });
});

describe('the demo of svc dev (DV-5)', () => {
  it('sends tokens to 127.0.0.1, where its server listens, and not to what localhost may mean', async () => {
    const layout = layoutOf(folder);
    const postgres = { url: () => 'postgres://embedded' } as unknown as PostgresServer;
    const passwords = loadPasswords(join(folder, 'passwords'));
    const temporal = { address: '127.0.0.1:7233', uiUrl: null };
    const plan = await planDemo(layout, { apiPort: 3000, postgres, passwords, databaseUrl: 'postgres://embedded', temporal });
    const { serverUrl, environment, agent } = plan;
    expect([serverUrl, agent?.environment.SVC_DEV_SERVER_URL]).toEqual(Array(2).fill('http://127.0.0.1:3000'));
    expect(environment.SVC_DEV_SERVER_URL).toBe('http://localhost:3000');
  });
});
