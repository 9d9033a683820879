import type { Transaction } from '../../db/client.js';
import { move } from '../../db/move.js';
import { judge } from '../../domain/request/judge.js';
import type { ClockKind } from '../../domain/request/view.js';
import type { Answer, TestApi } from '../support/api.js';
import { vouchIn } from '../support/vouch.js';

export interface CreationOver {
  [field: string]: unknown;
}

export interface Run {
  id: string;
  executionId: string;
}

export type GatewayCalls = ReturnType<typeof gatewayCalls>;

/** What the calls below need of a server. */
export interface CallTarget {
  call: TestApi['call'];
  tokens: { agent: string };
  services: Pick<TestApi['services'], 'database'>;
}

/** The calls of requesters, approvers and a bare agent as a client makes them. */
export function gatewayCalls(api: CallTarget) {
  const post = (token: string, path: string, body?: unknown) => api.call('POST', path, { token, body });
  const get = (token: string, path: string, signal?: AbortSignal) => api.call('GET', path, { token, signal });
  const create = (token: string, over: CreationOver = {}) =>
    post(token, '/api/requests', { database: 'shop', environment: 'production', detail: 'select 1', ...over });
  const submit = (executionId: string, body: unknown, token = api.tokens.agent) =>
    post(token, `/api/agent/jobs/${executionId}/result`, body);
  const claim = (id: string, token = api.tokens.agent) => post(token, `/api/agent/jobs/${id}/claim`);
  return {
    create,
    /** Creates a request that must be accepted; returns its id. */
    created: async (token: string, over: CreationOver = {}): Promise<string> => idOf(await create(token, over)),
    act: (token: string, id: string, what: 'approve' | 'reject' | 'cancel' | 'resume', body?: unknown) =>
      post(token, `/api/requests/${id}/${what}`, body),
    show: (token: string, id: string, query = '', signal?: AbortSignal) => get(token, `/api/requests/${id}${query}`, signal),
    list: (token: string, query = '') => get(token, `/api/requests${query}`),
    executions: (token: string, id: string, query = '') => get(token, `/api/requests/${id}/executions${query}`),
    content: (token: string, id: string, query = '') => get(token, `/api/requests/${id}/result/content${query}`),
    stream: (token: string, id: string, signal?: AbortSignal) => get(token, `/api/requests/${id}/result/stream`, signal),
    /** Makes the test agent known for pairs `database/environment`, with markers. */
    poll: (pairs: string[], token = api.tokens.agent) => post(token, '/api/agent/poll', pollBody(pairs)),
    claim,
    submit,
    /** Claims a dispatched request; returns the id of the execution. */
    claimed: async (id: string): Promise<Run> => {
      const answer = await claim(id);
      if (answer.status !== 200) throw new Error(`claim: ${answer.status} ${answer.text}`);
      return { id, executionId: answer.body.execution_id };
    },
    /** The whole run of an auto-approved request of `token`. */
    run: async (token: string, over: CreationOver, result: object): Promise<Run> => {
      const id = idOf(await create(token, { environment: 'staging', ...over }));
      const claimedJob = await claim(id);
      if (claimedJob.status !== 200) throw new Error(`claim: ${claimedJob.status} ${claimedJob.text}`);
      const answer = await submit(claimedJob.body.execution_id, result);
      if (answer.status !== 200) throw new Error(`result: ${answer.status} ${answer.text}`);
      return { id, executionId: claimedJob.body.execution_id };
    },
    /** Lets a clock of a request run out and makes the move that a timer makes. */
    fireClock: (id: string, kind: ClockKind) => fireClock(api, id, kind),
    endClock: (id: string, kind: ClockKind, fires: boolean) => endClock(api, id, kind, fires),
    sql: <Row extends object>(text: string, values: unknown[] = []) => api.services.database.query<Row>(text, values),
    eventTypes: async (id: string): Promise<string[]> => {
      const rows = await api.services.database.query<{ event_type: string }>(
        'select event_type from audit_events where request_id = $1 order by position',
        [id],
      );
      return rows.map((row) => row.event_type);
    },
  };
}

/** Asks again while the server has no room or no database, as a client does that is told 503. */
export async function untilTaken(ask: () => Promise<Answer>): Promise<Answer> {
  for (let left = 50; ; left -= 1) {
    const answer = await ask();
    if (answer.status !== 503 || left === 0) return answer;
  }
}

function idOf(answer: Answer): string {
  if (answer.status !== 201) throw new Error(`create: ${answer.status} ${answer.text}`);
  return answer.body.id;
}

export function pollBody(pairs: string[]) {
  const scopes = pairs.map((pair) => {
    const [database, environment] = pair.split('/');
    return { database, environment, marker: true };
  });
  return { capabilities: { scopes, features: ['fence'] }, limit: 0 };
}

const clockColumn = { pending: 'expires_at', approved: 'dispatch_by', dispatch: 'dispatch_deadline' } as const;

/** The instant is over now, as if the gateway had written it so; nothing happens where there is none. */
async function endClock(api: CallTarget, id: string, kind: ClockKind, fires: boolean): Promise<void> {
  const isSet = await api.services.database.transaction(async (tx) => {
    const isSet = await passClock(tx, id, kind);
    if (isSet && kind !== 'lease') await vouchIn(tx, id);
    return isSet;
  });
  // The instant stays as it was vouched for: a timer need not move the request, which then keeps its codes.
  if (fires && isSet) await api.services.database.transaction((tx) => fire(tx, id, kind));
}

async function fireClock(api: CallTarget, id: string, kind: ClockKind): Promise<void> {
  await api.services.database.transaction(async (tx) => {
    await passClock(tx, id, kind);
    await fire(tx, id, kind);
  });
}

const fire = (tx: Transaction, id: string, kind: ClockKind) =>
  move(tx, id, (request, now) => judge(request, { kind: 'clock', clock: kind }, now), { lockExecution: true });

async function passClock(tx: Transaction, id: string, kind: ClockKind): Promise<boolean> {
  // The request before its execution, as moves lock them: in another order, one of both would end by a deadlock.
  await tx.query('select 1 from requests where id = $1 for no key update', [id]);
  const text =
    kind === 'lease'
      ? `update executions set lease_expires_at = clock_timestamp() - interval '1 ms' where request_id = $1 and status = 'running' returning 1`
      : `update requests set ${clockColumn[kind]} = clock_timestamp() - interval '1 ms' where id = $1 and ${clockColumn[kind]} is not null returning 1`;
  return (await tx.query(text, [id])).length > 0;
}
