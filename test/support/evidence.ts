import type { SigningKey } from '../../crypto/ed25519.js';
import { agentCalls, pollBody, scope } from '../api/agent-calls.js';
import type { TestApi } from './api.js';
import { sealAll } from './audit-api.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from './toml.js';

export const evidenceToml = [
  databaseToml('shop', ['staging', 'production']),
  dbaTeamToml,
  passesToml('staging'),
  workflowToml({ environment: 'production', steps: [[{ group: 'dba-team', min: 2 }]] }),
  '[[execution_policies]]\nmax_executions = 9\n',
].join('');

/** The evidence of two requests that two people approved and that ran twice, of one that passed by policy, and the key that signed. */
export async function makeEvidence(api: TestApi) {
  const calls = await agentCalls(api);
  const people = await api.createUsers({ ada: { groups: ['dba-team'] }, ben: { groups: ['dba-team'] } });
  const scopes = [scope('shop', 'staging'), scope('shop', 'production')];
  const agent = await calls.known(pollBody({ limit: 0 }, { scopes }));
  const ran = async () => {
    const id = await calls.created(calls.requester, { detail: 'select 7 as "a b"', reason: 'to \u202elook' });
    await calls.act(people.ada, id, 'approve', { comment: 'fine' });
    await calls.act(people.ben, id, 'approve', {});
    for (const _ of [1, 2]) {
      await calls.resume(id);
      await agent.submit(await agent.run(id), { success: true, outcome: 'committed', result: { rows_affected: 1 } });
    }
    return id;
  };
  const [first, second, third] = [await ran(), await ran(), await calls.dispatched()];
  await sealAll(api);
  const ask = async (id: string) => (await api.call('GET', `/api/requests/${id}/evidence`, { token: api.tokens.admin })).text;
  const { signer } = await api.services.auditKeys(api.services.database);
  return { document: await ask(first), other: await ask(second), passed: await ask(third), signer: signer as SigningKey };
}
