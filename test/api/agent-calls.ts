import { type Answer, startTestApi, type TestApi, type TestApiOptions } from '../support/api.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from '../support/toml.js';
import { gatewayCalls } from './gateway-calls.js';

/** One target per kind of timeout and workflow; everything may run again up to twenty times. */
export const agentToml = [
  databaseToml('shop', ['staging', 'production', 'slow', 'capped', 'brief']),
  databaseToml('ledger', ['staging']),
  dbaTeamToml,
  passesToml(),
  workflowToml({ database: 'shop', environment: 'brief', auto: '{ mode = "always" }', more: 'statement_timeout_secs = 90' }),
  `[[execution_policies]]
max_executions = 20
retry_on_failure = true

[[execution_policies]]
database = "shop"
environment = "slow"
max_executions = 20
statement_timeout_secs = 45
max_rows = 7

[[execution_policies]]
database = "shop"
environment = "capped"
statement_timeout_secs = 5
max_statement_timeout_secs = 10

[agents]
min_version = "1.2.0"

[result_storage]
max_persist_bytes = 20000
`,
].join('');

export type Body = Record<string, unknown>;
export type Agent = ReturnType<typeof agentWith>;
export type AgentCalls = Awaited<ReturnType<typeof agentCalls>>;

/** A server with these targets, and the calls to it. */
export async function startAgentApi(options: TestApiOptions = {}): Promise<{ api: TestApi; calls: AgentCalls }> {
  const api = await startTestApi({ toml: agentToml, ...options });
  return { api, calls: await agentCalls(api) };
}

/** Reports and asks as an agent of today does: both scopes, markers, fences. */
export const pollBody = (over: Body = {}, capabilities: Body = {}): Body => ({
  capabilities: { scopes: [scope('shop', 'staging')], features: ['fence'], ...capabilities },
  ...over,
});

export const scope = (database: string, environment: string, marker = true) => ({ database, environment, marker });

/** What an agent of the protocol's basic form says: no fence, no wait, no claim id. */
export const basicBody: Body = { capabilities: { scopes: [{ database: 'shop', environment: 'staging' }] } };

/** Calls of agents and of one requester against a running server. */
export async function agentCalls(api: TestApi) {
  const calls = gatewayCalls(api);
  const requester = await api.createUser('rita', { roles: ['requester'] });
  let agents = 0;
  const newAgent = async () => {
    agents += 1;
    const id = `agent-${agents}`;
    const body = { subject_id: id, subject_type: 'agent' };
    const answer = await api.call('POST', '/api/tokens', { token: api.tokens.admin, body });
    if (answer.status !== 201) throw new Error(`${id}: ${answer.status} ${answer.text}`);
    return agentWith(api, id, answer.body.token, answer.body.id);
  };
  return {
    ...calls,
    requester,
    newAgent,
    /** An agent that has polled with `body`. */
    known: async (body: Body = pollBody({ limit: 0 })) => {
      const agent = await newAgent();
      const answer = await agent.poll(body);
      if (answer.status !== 200) throw new Error(`poll: ${answer.status} ${answer.text}`);
      return agent;
    },
    /** A dispatched request; `detail` decides whether it is a read. */
    dispatched: (detail = 'select 1', over: Body = {}): Promise<string> =>
      calls.created(requester, {
        environment: 'staging',
        detail,
        ...(/^select/i.test(detail) ? {} : { operation: 'execute_dml' }),
        ...over,
      }),
    statusOf: async (id: string): Promise<string> => (await calls.show(requester, id)).body.status,
    runsOf: async (id: string): Promise<Body[]> => (await calls.executions(requester, id)).body.executions,
    resume: (id: string) => calls.act(requester, id, 'resume'),
    cancel: (id: string) => calls.act(requester, id, 'cancel'),
    /** Ends what earlier cases left, so that it is neither offered nor running. */
    clear: () =>
      calls.sql(
        `with explained as (update dry_run_jobs set state = 'failed' where state in ('pending', 'claimed'))
         update requests set status = 'cancelled' where status in ('dispatched', 'running')`,
      ),
    events: (id: string, type: string) =>
      calls.sql<{ actor_type: string; outcome: string; metadata: Body }>(
        'select actor_type, outcome, metadata_json::jsonb as metadata from audit_events where request_id = $1 and event_type = $2',
        [id, type],
      ),
  };
}

function agentWith(api: TestApi, id: string, token: string, tokenId: string) {
  const post = (path: string, body?: unknown, signal?: AbortSignal) =>
    api.call('POST', `/api/agent/${path}`, { token, body, signal });
  return {
    id,
    token,
    tokenId,
    post,
    poll: (body: Body = pollBody(), signal?: AbortSignal) => post('poll', body, signal),
    offered: async (body: Body = pollBody()): Promise<string[]> => idsOf(await post('poll', body)),
    claim: (requestId: string, body?: Body) => post(`jobs/${requestId}/claim`, body),
    /** The execution of a claim that must be accepted. */
    run: async (requestId: string): Promise<string> => {
      const answer = await post(`jobs/${requestId}/claim`);
      if (answer.status !== 200) throw new Error(`claim: ${answer.status} ${answer.text}`);
      return answer.body.execution_id;
    },
    heartbeat: (executionId: string) => post(`jobs/${executionId}/heartbeat`),
    submit: (executionId: string, body: unknown) => post(`jobs/${executionId}/result`, body),
  };
}

export const idsOf = (answer: Answer): string[] => answer.body.jobs.map((job: { id: string }) => job.id);
export const coded = ({ status, body }: Answer) => [status, body?.code];
