import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { startTestApi } from '../support/api.js';
import { temporaryFolder } from '../support/processes.js';

it('HD-80: pin-keys.sh writes the keys of the database once, those of a rotation when told to, and nothing without an answer', async () => {
  const api = await startTestApi();
  const folder = await temporaryFolder();
  const [config, file] = [join(folder, 'server.toml'), join(folder, 'trusted-keys')];
  const write = (url: string) =>
    writeFileSync(
      config,
      `state_dir = "."\n[database]\nurl = "${url}"\nstart_wait_secs = 1\n[security]\nsecret_key_file = "key"`,
    );
  writeFileSync(join(folder, 'key'), '5e'.repeat(32), { mode: 0o600 });
  const environment = { ...process.env, PATH: `${join(clone, 'bin')}:${process.env.PATH}` };
  const pin = async (...more: string[]) => {
    const child = spawn('sh', [join(clone, 'deploy/pin-keys.sh'), config, file, ...more], { env: environment, stdio: 'ignore' });
    return (await once(child, 'exit'))[0];
  };
  const pinned = () => readFileSync(file, 'utf8');
  write('postgres://svc@127.0.0.1:1/svc');
  expect(await pin()).toBe(1);
  write(api.database.url);
  expect(await pin()).toBe(0);
  const [first] = await api.services.signingKeys.publicKeys();
  expect(pinned()).toBe(`${first!.publicKeyHex}\n`);
  const rotate = spawn(join(clone, 'bin/svc'), ['server', 'keys', 'rotate', '--config', config], {
    env: environment,
    stdio: 'ignore',
  });
  expect((await once(rotate, 'exit'))[0]).toBe(0);
  expect([await pin(), pinned()]).toEqual([0, `${first!.publicKeyHex}\n`]);
  expect(await pin('again')).toBe(0);
  const lines = pinned().trimEnd().split('\n');
  expect([lines.length, lines.includes(first!.publicKeyHex)]).toEqual([2, true]);
  for (const line of lines) expect(line).toMatch(/^[0-9a-f]{64}$/);
  await api.close();
});
