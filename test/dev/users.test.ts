import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { layoutOf } from '../../dev/layout.js';
import { prepareUsers, userToken } from '../../dev/users.js';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
const layout = layoutOf(mkdtempSync(join(tmpdir(), 'svc-users-')));
beforeAll(async () => {
  api = await startTestApi();
  mkdirSync(layout.state);
  copyFileSync(join(api.stateDir, 'admin-token'), join(layout.state, 'admin-token'));
  await prepareUsers(layout, api.url);
});
afterAll(async () => {
  await api?.close();
  rmSync(layout.data, { recursive: true, force: true });
});

const me = async (token: string) => (await api.call('GET', '/api/me', { token })).body;

describe('the users of the demo (DV-7, DV-8)', () => {
  it('are alice, who asks, and bob of dba-team, each with a token file and a configuration of svc', async () => {
    expect(await me(userToken(layout, 'alice'))).toMatchObject({ subject_id: 'alice', groups: [] });
    expect(await me(userToken(layout, 'bob'))).toMatchObject({ subject_id: 'bob', groups: ['dba-team'] });
    expect(statSync(join(layout.tokens, 'bob')).mode & 0o777).toBe(0o600);
    for (const name of ['bob', 'admin'])
      expect(readFileSync(join(layout.data, `${name}.toml`), 'utf8')).toContain(`url = "${api.url}"`);
  });

  it('reach it under two names, so that one browser can have both signed in (CO-33)', () => {
    const urlOf = (name: string) => /^url = "(.*)"$/m.exec(readFileSync(join(layout.data, `${name}.toml`), 'utf8'))?.[1];
    const { port } = new URL(api.url);
    expect([urlOf('alice'), urlOf('bob')]).toEqual([`http://localhost:${port}`, `http://127.0.0.1:${port}`]);
  });

  it('keep their tokens when they are made again', async () => {
    const before = userToken(layout, 'alice');
    await prepareUsers(layout, api.url);
    expect(userToken(layout, 'alice')).toBe(before);
  });

  it('get another token where the file of one is gone, and its former one ends', async () => {
    const before = userToken(layout, 'bob');
    rmSync(join(layout.tokens, 'bob'));
    await prepareUsers(layout, api.url);
    expect(await me(userToken(layout, 'bob'))).toMatchObject({ subject_id: 'bob' });
    expect((await api.call('GET', '/api/me', { token: before })).status).toBe(401);
  });
});
