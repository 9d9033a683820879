import { randomUUID } from 'node:crypto';
import type { AuditType } from '../../domain/audit/catalogue.js';
import { endOfPath } from '../domain/request/transitions.js';
import type { Answer } from '../support/api.js';
import { type Call, suspendable } from './calls.js';
import { type Http, httpOf } from './http.js';
import { Ids } from './ids.js';
import type { Person } from './people.js';
import { afterCall, distinct, fits, type Possible, withTimers } from './possible.js';
import type { Actor, Stage } from './stage.js';
import { executionOf, listedOf, shown, type World } from './world.js';

/**
 * Plays one sequence and compares each answer and each state with the model's; a difference is thrown with the script so far.
 * Answers the statuses that were met.
 */
export async function play(stage: Stage, sequence: readonly Call[]): Promise<Set<string>> {
  const player = new Player(stage);
  const met = new Set<string>();
  try {
    await player.begin();
    for (const [index, call] of sequence.entries()) {
      await player.step(call, index);
      for (const { status } of player.worlds[0]!.requests) met.add(status);
    }
    await player.checkEnd();
  } catch (error) {
    // Another sequence, also a shorter one of this, must not meet what this one left.
    await player.leave(suspendable).catch(() => {});
    throw new Error(`${(error as Error).message}\n\n${player.script.join('\n')}\n`);
  }
  await player.leave();
  return met;
}

/** Somebody else answers long before. */
const maxRepeats = 50;

class Player {
  /** More than one while nobody can know which of them is so. */
  worlds: World[] = [{ requests: [], suspended: new Set() }];
  /** What was done so far, as lines for a shell. */
  readonly script: string[] = [];
  readonly #stage: Stage;
  readonly #ids = new Ids();
  readonly #known = { prefix: randomUUID(), claims: new Map<string, string>() };
  /** The newest request of others. */
  #last: string | undefined;
  #lastClaim = '';

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async begin(): Promise<void> {
    this.#last = (await this.#look('/api/requests?limit=1')).body.requests[0]?.id;
  }

  async step(call: Call, index: number): Promise<void> {
    const event = await this.#stage.disturb(index);
    if (event !== null) this.script.push(`# ${event}`);
    if (call.call === 'clock') await this.#endClock(call);
    else await this.#make(call);
    await this.#checkList();
    await this.#learnRuns();
  }

  async #endClock(call: Extract<Call, { call: 'clock' }>): Promise<void> {
    const name = this.worlds[0]!.requests.at(-1 - call.request)?.name;
    if (name === undefined) return;
    this.script.push(`# the ${call.clock} clock of $${name} is over${call.fires ? ' and its timer fires' : ''}`);
    await this.#stage.endClock(this.#ids.of(name)!, call.clock, call.fires);
    this.worlds = distinct(afterCall(this.#possible(), call).map(({ world }) => world));
  }

  async #make(call: Exclude<Call, { call: 'clock' }>, repeats = maxRepeats): Promise<void> {
    const http = httpOf(call, this.worlds[0]!, this.#known);
    const answer = await this.#send(actorOf(call), http);
    const after = afterCall(this.#possible(), call);
    if (answer === null) this.worlds = distinct([...this.worlds, ...after.map(({ world }) => world)]);
    else this.#keepAnswered(after, answer);
    if (call.call === 'claim') this.#lastClaim = (http.body as { claim_id: string }).claim_id;
    if (call.call === 'suspend' || call.call === 'activate') await this.#settlePerson(call.who);
    // A careful client repeats what was not answered (HT-114): the key makes all attempts one request.
    if (answer === null && call.call === 'create' && call.key !== null && repeats > 0) await this.#make(call, repeats - 1);
  }

  /** Each request's page and executions, as an administrator sees them, and its history (RQ-I1). */
  async checkEnd(): Promise<void> {
    for (const { name } of this.worlds[0]!.requests) {
      const id = this.#ids.of(name)!;
      const of = (world: World) => world.requests.find((request) => request.name === name)!;
      this.#keep((world) => shown(of(world)), this.#ids.visible(await this.#look(`/api/requests/${id}`)));
      const executions = this.#ids.visible(await this.#look(`/api/requests/${id}/executions`));
      this.#keep((world) => ({ executions: of(world).runs.map(executionOf).toReversed() }), executions);
      const history = await this.#stage.eventTypes(id);
      this.#keep((world) => ({ end: of(world).status }), { end: endOfPath(history as AuditType[]), history });
    }
  }

  /** Leaves nothing that another sequence could meet. */
  async leave(suspected: readonly Person[] = []): Promise<void> {
    const suspended = this.worlds.flatMap((world) => [...world.suspended]);
    for (const who of new Set([...suspended, ...suspected])) {
      await this.#stage.ask({ method: 'POST', path: `/api/users/${who}/activate` }, this.#stage.tokens.admin);
      await this.#renew(who);
    }
    await this.#stage.end(this.worlds[0]!.requests.flatMap(({ name }) => this.#ids.of(name) ?? []));
  }

  #possible(): World[] {
    return this.#stage.hasWorkers ? withTimers(this.worlds) : this.worlds;
  }

  async #send(who: Actor, http: Http): Promise<Answer | null> {
    const { method, path, body } = http;
    const answer = await this.#stage.send({ ...http, path: this.#ids.real(path) }, this.#stage.tokens[who]);
    const data = body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    const said =
      answer === null ? 'no answer' : [answer.status, answer.body?.code, answer.body?.status].filter(Boolean).join(' ');
    this.script.push(`curl -X ${method} "$SVC${path}" -H "authorization: Bearer $${who}"${data}  # ${said}`);
    return answer;
  }

  #look(path: string): Promise<Answer> {
    return this.#stage.ask({ method: 'GET', path }, this.#stage.tokens.admin);
  }

  /** Keeps the worlds whose prediction fits the answer. */
  #keepAnswered(after: readonly Possible[], answer: Answer): void {
    for (const { world } of after) this.#ids.learn(world, answer.body?.execution_id ?? answer.body?.id);
    const found = { status: answer.status, code: answer.body?.code, body: this.#ids.visible(answer) };
    this.worlds = after.map(({ world }) => world);
    this.#keep(
      (world) => {
        const { status, code, body } = after.find((one) => one.world === world)!.expected!;
        return { status, ...(code === undefined ? {} : { code }), ...(body ? { body } : {}) };
      },
      found,
      this.worlds,
    );
  }

  /** Keeps the worlds that fit what was found; if none does, throws what each of them would have shown. */
  #keep(wanted: (world: World) => object, found: unknown, worlds = this.#possible()): void {
    const fitting = worlds.filter((world) => fits(found, wanted(world)));
    const musts = new Set(worlds.map((world) => JSON.stringify(wanted(world))));
    if (fitting.length === 0)
      throw new Error(
        `after\n${this.script.at(-1)}\nmust be ${[...musts].join('\n     or ')}\nis      ${JSON.stringify(found)}\n`,
      );
    this.worlds = distinct(fitting);
  }

  async #checkList(): Promise<void> {
    const most = Math.max(...this.worlds.map(({ requests }) => requests.length));
    if (most === 0) return;
    const answer = await this.#look(`/api/requests?limit=${most + 1}`);
    const listed: { id: string }[] = answer.body.requests;
    const ids = listed.map(({ id }) => id);
    const own = ids.slice(0, ids.includes(this.#last ?? '') ? ids.indexOf(this.#last!) : ids.length);
    // A creation without an answer made it.
    for (const world of this.worlds) if (world.requests.length === own.length) this.#ids.learn(world, own[0]);
    this.#keep(
      (world) => ({
        count: world.requests.length,
        requests: world.requests.map(listedOf).toReversed(),
      }),
      { count: own.length, ...this.#ids.visible(answer) },
    );
  }

  /** A new run is of the last claim, also one without an answer. */
  async #learnRuns(): Promise<void> {
    for (const { name, runs } of this.worlds[0]!.requests) {
      for (const run of runs) if (!this.#known.claims.has(run.name)) this.#known.claims.set(run.name, this.#lastClaim);
      if (runs.every((run) => this.#ids.of(run.name) !== undefined)) continue;
      const { body } = await this.#look(`/api/requests/${this.#ids.of(name)}/executions`);
      for (const { id, fence } of body.executions) this.#ids.set(`${name}e${fence}`, id);
    }
  }

  /** Whether the person is suspended; a suspension has revoked the token. */
  async #settlePerson(who: Person): Promise<void> {
    const { status } = (await this.#look(`/api/users/${who}`)).body;
    this.#keep((world) => ({ status: world.suspended.has(who) ? 'suspended' : 'active' }), { status });
    if (status === 'active') await this.#renew(who);
  }

  async #renew(who: Person): Promise<void> {
    const { tokens } = this.#stage;
    const again: Http = { method: 'POST', path: `/api/users/${who}/reissue-initial-token` };
    tokens[who] = (await this.#stage.ask(again, tokens.admin)).body.token;
  }
}

function actorOf(call: Exclude<Call, { call: 'clock' }>): Actor {
  if ('agent' in call) return call.agent;
  return call.call === 'suspend' || call.call === 'activate' ? 'admin' : call.who;
}
