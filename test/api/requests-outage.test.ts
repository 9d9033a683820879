import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml, type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const toml = `${callsToml}
[temporal]
address = "127.0.0.1:1"
max_backlog = 5
ui_url = "http://127.0.0.1:8233/"
`;

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml: callsToml });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  approver = await api.createUser('approver', { groups: ['dba-team'] });
  await calls.poll(['shop/production', 'shop/staging']);
});
afterAll(() => api?.close());
