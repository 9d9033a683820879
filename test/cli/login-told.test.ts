import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitUntil } from '../../lib/deadline.js';
import { eventually } from '../support/processes.js';
import { type LoginPlace, openLoginPlace, shownAddress } from './login-place.js';
import { runSvc, type SvcOptions } from './run-svc.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
});
afterEach(() => place.close());

const forPeople = (argv: string[], options: SvcOptions) =>
  runSvc(['--config', place.config, 'login', ...argv], {
    ...options,
    environment: { XDG_CONFIG_HOME: place.home, ...options.environment },
  });
const loggedIn = () => `logged in at ${place.api.url} as alice\n`;

it('people see on a terminal how long svc waits, in one line that goes away, and a forged callback once', async () => {
  const { code, stdout, stderr } = await forPeople(['--no-browser'], {
    terminal: true,
    started: async ({ stderr }) => {
      const callback = await place.provider.visit(await shownAddress(stderr), 'alice');
      for (let call = 0; call < 3; call += 1) await fetch(callback.replace(/state=[^&]*/, 'state=x'));
      await fetch(callback);
    },
  });
  expect([code, stdout]).toEqual([0, loggedIn()]);
  expect(stderr).toContain('waiting for the browser, 5 min left; Ctrl-C ends');
  expect(stderr.match(/a callback that does not belong to this login was refused/g)).toHaveLength(1);
  expect(stderr.trimEnd().endsWith('\u001b[2K')).toBe(true);
});

it('elsewhere it is told in lines, with the name of the one that is waited for', async () => {
  const { code, stderr } = await forPeople(['--device'], {
    limits: { devicePauseMs: 20, progressRepeatMs: 20 },
    started: async ({ stderr }) => {
      const address = await shownAddress(stderr);
      await waitUntil(() => stderr().includes('waiting for'), { ms: 5000, everyMs: 5 });
      await place.provider.allowDevice(address, 'alice');
    },
  });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^waiting for the login by code, 10 min left; Ctrl-C ends$/m);
  expect(stderr).not.toContain('\u001b');
});

it('opens the browser with the address as one argument, and prints it too (CL-40)', async () => {
  const opened = join(place.home, 'opened');
  writeFileSync(
    join(place.home, 'xdg-open'),
    `#!/bin/sh\nprintf '%s\\n' "$#" "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`,
  );
  chmodSync(join(place.home, 'xdg-open'), 0o755);
  const { code, stderr } = await forPeople([], {
    environment: { DISPLAY: ':9', PATH: `${place.home}:${process.env.PATH}` },
    started: async ({ stderr }) => void (await fetch(await place.provider.visit(await shownAddress(stderr), 'alice'))),
  });
  expect([code, stderr]).toEqual([0, expect.stringMatching(/^Log in in the browser\. If none opens:\nhttp:/)]);
  await eventually(() => existsSync(opened));
  expect(readFileSync(opened, 'utf8')).toBe(`1\n${/^http:\S+$/m.exec(stderr)![0]}\n`);
});

it('shows a code when no browser can be opened (CL-41)', async () => {
  const { code, stderr } = await forPeople([], {
    environment: { DISPLAY: ':9', PATH: place.home },
    limits: { devicePauseMs: 20 },
    started: async ({ stderr }) => place.provider.allowDevice(await shownAddress(stderr), 'alice'),
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining('type the code')]);
});

it('--format quiet shows nothing, so it cannot show an address', async () => {
  for (const argv of [['--device'], ['--no-browser']]) {
    const { code, stdout, stderr } = await forPeople([...argv, '--format', 'quiet'], {});
    expect([code, stderr, JSON.parse(stdout).error.code]).toEqual([2, '', 'usage']);
  }
});

it('takes the other flow when the provider has only one, and says when it has not the one that is asked for', async () => {
  const { url } = place.api;
  const discovered = (over: Record<string, unknown>) => {
    place.api.on('GET /.well-known/openid-configuration', { body: { issuer: url, token_endpoint: `${url}/token`, ...over } });
    writeFileSync(place.config, `[server]\nurl = "${url}"\n[server.oidc]\nissuer = "${url}"\nclient_id = "svc"\n`);
  };
  discovered({ authorization_endpoint: `${url}/auth` });
  const refused = await forPeople(['--device'], {});
  expect(refused.stderr).toContain(`does not support device login\nhint: svc --config ${place.config} login without --device`);
  const printed = await forPeople([], { limits: { loginMs: 100 } });
  expect(printed.stderr).toContain('Open this address in a browser of this machine:');
  discovered({});
  expect((await forPeople([], {})).stderr).toContain('supports neither browser login nor device login');
});
