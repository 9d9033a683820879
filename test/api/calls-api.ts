import { type Person, startTestApi, type TestApi, type TestApiOptions } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

interface CallsApi<Id extends string> {
  api: TestApi;
  calls: GatewayCalls;
  /** Tokens of each person and of the administrator. */
  tokens: Record<Id | 'admin', string>;
}

/** A requester, and one whose approval production needs. */
export const ownerAndApprover = { owner: { roles: ['requester'] }, approver: { groups: ['dba-team'] } };

/** A server with the targets of `callsToml`, people on it, and a bare agent that is known for pairs `database/environment`. */
export async function startCalls<Id extends string>(
  people: Record<Id, Person>,
  pairs: string[] = [],
  options: TestApiOptions = {},
): Promise<CallsApi<Id>> {
  const api = await startTestApi({ toml: callsToml, ...options });
  const calls = gatewayCalls(api);
  const tokens = { admin: api.tokens.admin, ...(await api.createUsers(people)) };
  if (pairs.length > 0) await calls.poll(pairs);
  return { api, calls, tokens };
}

/** The same with another server on the same database; `close` ends both. */
export async function startCallsOnTwo<Id extends string>(
  people: Record<Id, Person>,
  pairs: string[] = [],
  options: TestApiOptions = {},
  otherOptions: TestApiOptions = {},
) {
  const started = await startCalls(people, pairs, options);
  const other = await started.api.another(otherOptions);
  const close = async () => {
    await other.close();
    await started.api.close();
  };
  return { ...started, other, elsewhere: gatewayCalls(other), close };
}
