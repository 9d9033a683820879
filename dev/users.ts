import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, callApi, unexpected } from './api-call.js';
import type { Layout } from './layout.js';
import { underLocalhost } from './ports.js';

const users = [
  { id: 'alice', roles: ['requester'], groups: [] },
  { id: 'bob', roles: ['requester'], groups: ['dba-team'] },
];

/** Alice gets another name of the same server: browsers keep cookies by host, so both can be signed in to the web console. */
const addressFor = (id: string, server: string) => (id === 'alice' ? underLocalhost(server) : server);

/**
 * Creates the demo's users and their token files over HTTP, and a configuration of `svc` for each (DV-7, DV-8). Safe to repeat: a
 * user without a working token gets a new one.
 */
export async function prepareUsers(layout: Layout, server: string): Promise<void> {
  const adminToken = readFileSync(join(layout.state, 'admin-token'), 'utf8').trim();
  mkdirSync(layout.tokens, { recursive: true, mode: 0o700 });
  for (const user of users) {
    const file = join(layout.tokens, user.id);
    if (!(await hasWorkingToken(server, file))) replaceFile(file, await makeToken({ server, token: adminToken }, user));
    replaceFile(join(layout.data, `${user.id}.toml`), clientConfig(addressFor(user.id, server), `tokens/${user.id}`));
  }
  replaceFile(join(layout.data, 'admin.toml'), clientConfig(server, 'state/admin-token'));
}

export function userToken(layout: Layout, id: 'alice' | 'bob'): string {
  return readFileSync(join(layout.tokens, id), 'utf8');
}

async function hasWorkingToken(server: string, file: string): Promise<boolean> {
  return existsSync(file) && (await callApi({ server, token: readFileSync(file, 'utf8') }, 'GET', '/api/me')).status === 200;
}

async function makeToken(admin: Api, user: (typeof users)[number]): Promise<string> {
  const created = await callApi(admin, 'POST', '/api/users', user);
  if (created.status === 201) return tokenOf(created.body);
  if (created.status !== 409) throw unexpected(`creating user ${user.id}`, created);
  const reissued = await callApi(admin, 'POST', `/api/users/${user.id}/reissue-initial-token`);
  if (reissued.status !== 200) throw unexpected(`a new token for user ${user.id}`, reissued);
  return tokenOf(reissued.body);
}

function tokenOf(body: Record<string, unknown>): string {
  if (typeof body.token !== 'string') throw new Error('the gateway answers without the new token');
  return body.token;
}

/** A configuration of `svc` without a token: who calls is decided by `svc login` (DV-14). */
export function writeLoginConfig(
  layout: Layout,
  server: string,
  { issuer, clientId }: { issuer: string; clientId: string },
): string {
  const file = join(layout.data, 'login.toml');
  const login = ['[server.oidc]', `issuer = "${issuer}"`, `client_id = "${clientId}"`, ''];
  replaceFile(file, [...commonLines(server), '', ...login].join('\n'));
  return file;
}

function clientConfig(server: string, tokenFile: string): string {
  return [...commonLines(server), `token_file = "${tokenFile}"`, ''].join('\n');
}

function commonLines(server: string): string[] {
  return ['default_database = "shop"', 'default_environment = "staging"', '', '[server]', `url = "${server}"`];
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
