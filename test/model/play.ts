import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { AuditType } from '../../domain/audit.js';
import { type GatewayCalls, gatewayCalls } from '../api/gateway-calls.js';
import { endOfPath } from '../domain/request/transitions.js';
import type { Answer, TestApi } from '../support/api.js';
import type { Call } from './calls.js';
import { endClock, type Http, httpOf, pollBody } from './http.js';
import { type AgentName, agents, type Person, people, rolesOf } from './people.js';
import { predict } from './predict.js';
import { currentStep, executionOf, shown, type World } from './world.js';

export interface Stage {
  api: TestApi;
  calls: GatewayCalls;
  /** Of people and agents; a suspended person's is dead. */
  tokens: Record<Person | AgentName, string>;
}

/** Makes everybody of the model known to a server. */
export async function setStage(api: TestApi): Promise<Stage> {
  const tokens = { admin: api.tokens.admin } as Stage['tokens'];
  for (const [name, roles] of Object.entries(rolesOf)) {
    const who = name as keyof typeof rolesOf;
    tokens[who] = await api.createUser(who, { roles, groups: people[who].groups });
  }
  for (const agent of Object.keys(agents) as AgentName[]) {
    const body = { subject_id: agent, subject_type: 'agent' };
    tokens[agent] = (await api.call('POST', '/api/tokens', { token: api.tokens.admin, body })).body.token;
    await api.call('POST', '/api/agent/poll', { token: tokens[agent], body: pollBody(agent) });
  }
  return { api, calls: gatewayCalls(api), tokens };
}

/**
 * Plays one sequence on a server and compares each answer and each state with the model's; a difference is thrown with the script so far.
 * Answers the statuses that were met.
 */
export async function play(stage: Stage, sequence: readonly Call[]): Promise<Set<string>> {
  const player = new Player(stage);
  const met = new Set<string>();
  try {
    for (const call of sequence) {
      await player.step(call);
      for (const { status } of player.world.requests) met.add(status);
    }
    await player.checkEnd();
    return met;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${player.script.join('\n')}\n`);
  } finally {
    await player.leave();
  }
}

class Player {
  readonly world: World = { requests: [], suspended: new Set() };
  /** What was done so far, as lines for a shell. */
  readonly script: string[] = [];
  readonly #stage: Stage;
  readonly #ids = new Map<string, string>();
  readonly #known = { prefix: randomUUID(), claims: new Map<string, string>() };

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async step(call: Call): Promise<void> {
    if (call.call === 'clock') {
      const name = this.world.requests.at(-1 - call.request)?.name;
      if (name === undefined) return;
      this.script.push(`# the ${call.clock} clock of $${name} is over${call.fires ? ' and its timer fires' : ''}`);
      await endClock(this.#stage.calls, this.#ids.get(name)!, call.clock, call.fires);
      predict(this.world, call);
      return this.#checkList();
    }
    const http = httpOf(call, this.world, this.#known);
    const expected = predict(this.world, call)!;
    const answer = await this.#send(actorOf(call), http);
    this.#learn(answer, http);
    const body = this.#visible(answer);
    this.#compare(
      { status: expected.status, ...(expected.code === undefined ? {} : { code: expected.code }) },
      { status: answer.status, code: answer.body?.code },
    );
    if (expected.body) this.#compare(expected.body, body);
    if (call.call === 'activate') await this.#renew(call.who);
    await this.#checkList();
  }

  /** Each request's page and executions, as an administrator sees them, and its history (RQ-I1). */
  async checkEnd(): Promise<void> {
    for (const request of this.world.requests) {
      const page: Http = { method: 'GET', path: `/api/requests/$${request.name}` };
      this.#compare(shown(request), this.#visible(await this.#send('admin', page)));
      const executions = this.#visible(await this.#send('admin', { ...page, path: `${page.path}/executions` }));
      this.#compare({ executions: request.runs.map(executionOf).toReversed() }, executions);
      const history = await this.#stage.calls.eventTypes(this.#ids.get(request.name)!);
      this.#compare({ end: request.status }, { end: endOfPath(history as AuditType[]), history });
    }
  }

  /** Leaves nothing that another sequence could meet. */
  async leave(): Promise<void> {
    const { api, calls, tokens } = this.#stage;
    for (const who of this.world.suspended) {
      await api.call('POST', `/api/users/${who}/activate`, { token: tokens.admin });
      await this.#renew(who);
    }
    await calls.sql(
      `update requests set status = 'cancelled' where resolved_at is null or status in ('approved', 'execution_lost')`,
    );
  }

  async #send(who: Person | AgentName, { method, path, body }: Http): Promise<Answer> {
    const real = path.replace(/\$(\w+)/, (_, name) => this.#ids.get(name) ?? randomUUID());
    const token = this.#stage.tokens[who];
    const answer = await this.#stage.api.call(method, real, { token, ...(body === undefined ? {} : { body }) });
    const data = body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    const said = [answer.status, answer.body?.code, answer.body?.status].filter(Boolean).join(' ');
    this.script.push(`curl -X ${method} "$SVC${path}" -H "authorization: Bearer $${who}"${data}  # ${said}`);
    return answer;
  }

  /** What the model has just named has the id of the answer. */
  #learn({ body }: Answer, http: Http): void {
    const names = this.world.requests.flatMap(({ name, runs }) => [name, ...runs.map((run) => run.name)]);
    const name = names.find((one) => !this.#ids.has(one));
    const id = body?.execution_id ?? body?.id;
    if (name === undefined || id === undefined) return;
    this.#ids.set(name, id);
    const { claim_id: claim } = (http.body ?? {}) as { claim_id?: string };
    if (claim !== undefined) this.#known.claims.set(name, claim);
  }

  /** The answer as the model words it: names in place of ids, and nothing of other sequences. */
  #visible({ text }: Answer): Record<string, unknown> {
    const names = new Map([...this.#ids].map(([name, id]) => [id, name]));
    const body = JSON.parse(text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => names.get(id) ?? id));
    for (const key of ['requests', 'jobs'].filter((one) => one in body))
      body[key] = body[key].filter(({ id }: { id: string }) => this.#ids.has(id));
    body.jobs?.sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1));
    if ('cancelled_requests' in body)
      body.cancelled_requests = body.cancelled_requests.filter((id: string) => this.#ids.has(id)).toSorted();
    return body;
  }

  #compare(wanted: NonNullable<unknown>, found: unknown): void {
    const [must, is] = [wanted, found].map((one) => JSON.stringify(one));
    expect(found, `after\n${this.script.at(-1)}\nmust be ${must}\nis      ${is}\n`).toMatchObject(wanted as object);
  }

  async #checkList(): Promise<void> {
    if (this.world.requests.length === 0) return;
    const answer = await this.#stage.calls.list(this.#stage.tokens.admin, `?limit=${this.world.requests.length}`);
    const requests = this.world.requests.map((request) => ({
      ...{ id: request.name, status: request.status },
      ...(request.status === 'pending' ? { current_step: currentStep(request) } : {}),
    }));
    this.#compare({ requests: requests.toReversed() }, this.#visible(answer));
  }

  /** A suspension has revoked the person's token. */
  async #renew(who: Person): Promise<void> {
    const { api, tokens } = this.#stage;
    const answer = await api.call('POST', `/api/users/${who}/reissue-initial-token`, { token: tokens.admin });
    tokens[who] = answer.body.token;
  }
}

function actorOf(call: Exclude<Call, { call: 'clock' }>): Person | AgentName {
  if ('agent' in call) return call.agent;
  return call.call === 'suspend' || call.call === 'activate' ? 'admin' : call.who;
}
