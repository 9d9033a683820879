import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { openApiFile } from '../../api/openapi-file.js';
import { nodeProgram } from './openapi/node-program.js';

const folder = mkdtempSync(join(tmpdir(), 'svc-client-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The compiler refuses a line of `@ts-expect-error` whose call it would take. */
const client = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Schemas = components['schemas'];
const client = createClient<paths>({ baseUrl: 'http://localhost:3000' });

export async function ask(sql: string): Promise<string> {
  const { data, error } = await client.POST('/api/requests', {
    body: { database: 'shop', environment: 'production', operation: 'execute_dml', detail: sql, reason: null, share_with: ['group:leads'] },
  });
  if (error !== undefined) throw new Error(\`\${error.code}: \${error.error}\`);
  return data.id;
}

export async function follow(id: string): Promise<Schemas['Request']['status']> {
  const { data } = await client.GET('/api/requests/{id}', { params: { path: { id }, query: { wait: 60 } } });
  return data?.status ?? 'pending';
}

export async function waiting(): Promise<Schemas['RequestItem'][]> {
  const query = { status: 'pending', pending_for_me: true, limit: 20 } as const;
  const { data } = await client.GET('/api/requests', { params: { query } });
  return data?.requests ?? [];
}

export const approve = (id: string) => client.POST('/api/requests/{id}/approve', { params: { path: { id } } });
export const limit = (name: string) => client.PATCH('/api/users/{id}', { params: { path: { id: name } }, body: { rm_roles: ['dba'] } });

export async function steps(id: string): Promise<number> {
  const { data } = await client.GET('/api/workflows/{id}', { params: { path: { id } } });
  return (data?.steps ?? []).filter(({ mode, approvers }) => mode === 'all' && approvers.length > 1).length;
}

export const lostRace = ({ code, reason }: Schemas['Error']) => code === 'request.conflict' && reason === 'wrong_status';

const body = { database: 'shop', environment: 'production', detail: 'select 1' };
// @ts-expect-error no such field
await client.POST('/api/requests', { body: { ...body, resaon: 'x' } satisfies Schemas['RequestCreation'] });
// @ts-expect-error the text is required
await client.POST('/api/requests', { body: { database: 'shop', environment: 'production' } });
// @ts-expect-error no such operation
await client.POST('/api/requests', { body: { ...body, operation: 'execute_everything' } });
// @ts-expect-error no such status
await client.GET('/api/requests', { params: { query: { status: 'done' } } });
// @ts-expect-error the id is required
await client.GET('/api/requests/{id}');
// @ts-expect-error no such path
await client.GET('/api/request');
// @ts-expect-error policies are changed in server.toml only
await client.POST('/api/workflows', { body: {} });
// @ts-expect-error no answer has this field (RQ-40)
export const result = (request: Schemas['Request']) => request.execution_result;
// @ts-expect-error a reason may be null
export const reason = (request: Schemas['Request']): string => request.reason;
// @ts-expect-error a list of roles, not one
export const role: Schemas['NewUser'] = { id: 'alice', roles: 'dba' };
`;

const options = {
  target: 'ES2023',
  lib: ['ES2023', 'DOM'],
  types: [],
  module: 'nodenext',
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
};

it('compiles a client whose types openapi-typescript makes of the document, and no wrong call (HT-98)', async () => {
  const file = (name: string) => join(folder, name);
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), file('node_modules'));
  // Callers may leave out what has a default.
  const made = ['--output', file('api.d.ts'), '--default-non-nullable', 'false'];
  await nodeProgram(['node_modules/openapi-typescript/bin/cli.js', fileURLToPath(openApiFile), ...made]);
  writeFileSync(file('package.json'), '{"type":"module"}');
  writeFileSync(file('client.ts'), client);
  writeFileSync(file('tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['client.ts'] }));
  const { code, stdout } = await nodeProgram(['node_modules/typescript/bin/tsc', '-p', folder]);
  expect([code, stdout]).toEqual([0, '']);
}, 200_000);
