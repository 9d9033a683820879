import type { ClockKind } from '../../domain/request/view.js';
import { gatewayCalls } from '../api/gateway-calls.js';
import type { Answer, CallOptions, TestApi } from '../support/api.js';
import type { Http } from './http.js';
import { pollBody } from './http.js';
import { type AgentName, agents, type Person, people, rolesOf } from './people.js';

export type Actor = Person | AgentName;

/** Where a sequence is played. */
export interface Stage {
  /** Tokens of people and agents; a suspended person's is revoked. */
  tokens: Record<Actor, string>;
  /** Makes a call; null = there is no answer, and nobody knows what became of it. */
  send(http: Http, token: string): Promise<Answer | null>;
  /** Asks again until there is an answer; for what may be repeated. */
  ask(http: Http, token: string): Promise<Answer>;
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
  /** The instant of a clock is over now; its timer's move, as a worker makes it, comes after that, if at all. */
  endClock(id: string, kind: ClockKind, fires: boolean): Promise<void>;
  eventTypes(id: string): Promise<string[]>;
  /** Whether workers carry out clocks that are over by themselves. */
  hasWorkers: boolean;
  /** Tells before each step what happens to the gateway then, if anything. */
  disturb(step: number): Promise<string | null>;
  /** Ends whatever the requests of a sequence left open. */
  end(ids: string[]): Promise<void>;
}

/** Makes everybody of the model known to a server. */
export async function invite(call: (path: string, options: CallOptions) => Promise<Answer>, admin: string) {
  const tokens = { admin } as Stage['tokens'];
  const made = async (path: string, body: object) => (await call(path, { token: admin, body })).body.token as string;
  for (const [name, roles] of Object.entries(rolesOf)) {
    const id = name as keyof typeof rolesOf;
    tokens[id] = await made('/api/users', { id, roles, groups: people[id].groups });
  }
  for (const agent of Object.keys(agents) as AgentName[]) {
    tokens[agent] = await made('/api/tokens', { subject_id: agent, subject_type: 'agent' });
    await call('/api/agent/poll', { token: tokens[agent], body: pollBody(agent) });
  }
  return tokens;
}

/** One server in this process, which nothing happens to, and no worker. */
export async function quietStage(api: TestApi): Promise<Stage> {
  const calls = gatewayCalls(api);
  const ask: Stage['ask'] = ({ method, path, body }, token) => api.call(method, path, { token, body });
  return {
    tokens: await invite((path, options) => api.call('POST', path, options), api.tokens.admin),
    send: ask,
    ask,
    sql: calls.sql,
    endClock: calls.endClock,
    eventTypes: calls.eventTypes,
    hasWorkers: false,
    disturb: async () => null,
    end: async () =>
      void (await calls.sql(
        `update requests set status = 'cancelled' where resolved_at is null or status in ('approved', 'execution_lost')`,
      )),
  };
}
