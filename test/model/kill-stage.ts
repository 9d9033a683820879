import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { gatewayCalls } from '../api/gateway-calls.js';
import { countNews, eventTypes } from '../faults/looks.js';
import type { Answer, CallOptions } from '../support/api.js';
import { eventually } from '../support/processes.js';
import type { System } from '../support/system.js';
import type { Http } from './http.js';
import { invite, type Stage } from './stage.js';
import { type names, type Victim, victimsOf, waitMs } from './victims.js';

/** `afterMs`: so long after the call of the step began, null = before it. */
export interface Kill {
  step: number;
  victim: (typeof names)[number];
  afterMs: number | null;
}

/** Two servers and a worker, any of which may be killed before or during a call. */
export async function killStage(system: System, databaseUrl: string): Promise<KillStage> {
  const database = openDatabase({
    url: databaseUrl,
    poolMax: 2,
    connectTimeoutMs: 10_000,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
    macs: system.macs,
  });
  const stage = new KillStage(system, database);
  const post = (path: string, { token, body }: CallOptions) =>
    stage.ask({ method: 'POST', path, body: body as object | undefined }, token ?? '');
  stage.tokens = await invite(post, system.tokens.admin);
  return stage;
}

const maxAttempts = 500;

export class KillStage implements Stage {
  tokens = {} as Stage['tokens'];
  readonly hasWorkers = true;
  readonly sql: Stage['sql'];
  readonly endClock: Stage['endClock'];
  readonly #system: System;
  readonly #database: Database;
  readonly #victims: Victim[];
  #planned: readonly Kill[] = [];
  #armed: { victim: Victim; afterMs: number } | null = null;
  #turn = 0;

  constructor(system: System, database: Database) {
    this.#system = system;
    this.#database = database;
    this.#victims = victimsOf(system, database);
    this.sql = database.query;
    const call = () => Promise.reject(new Error('only moves are made'));
    this.endClock = gatewayCalls({ call, tokens: system.tokens, services: { database } }).endClock;
  }

  /** The kills of the next sequence. */
  plan(kills: readonly Kill[]): void {
    this.#planned = kills;
  }

  async disturb(step: number): Promise<string | null> {
    // Only a clock of the sequence ends a lease, however long a busy machine takes for it.
    await this.sql(
      `update executions set lease_expires_at = clock_timestamp() + interval '1 hour' where status = 'running' and lease_expires_at > clock_timestamp()`,
    );
    const told: string[] = [];
    for (const { victim: name, afterMs } of this.#planned.filter((one) => one.step === step)) {
      const victim = this.#victims.find((one) => one.name === name)!;
      told.push(`kill -9 ${name}${afterMs === null ? '' : `, ${afterMs} ms after the next call began`}`);
      if (afterMs === null) await victim.kill();
      else this.#armed = { victim, afterMs };
    }
    return told.length === 0 ? null : told.join('; ');
  }

  async send(http: Http, token: string): Promise<Answer | null> {
    const blow = this.#armed;
    this.#armed = null;
    const server = blow?.victim.name.startsWith('server') ? blow.victim : this.#nextServer();
    const url = await server.url();
    const hangUp = new AbortController();
    const running = await this.#isCancelOfRunning(http);
    const answered = callOnce(url, http, token, hangUp.signal);
    const killed = blow === null ? null : sleep(blow.afterMs).then(() => blow.victim.kill());
    // It is answered after 20 s (RQ-72): nobody waits for that once the wish is stored.
    if (running !== null) await this.#untilWished(running, answered).finally(() => hangUp.abort());
    const [answer] = await Promise.all([answered, killed]);
    return running !== null || answer?.status === 503 ? null : answer;
  }

  async ask(http: Http, token: string): Promise<Answer> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const answer = await callOnce(await this.#nextServer().url(), http, token);
      if (answer !== null && answer.status < 500) return answer;
      await sleep(50);
    }
    throw new Error(`${http.method} ${http.path} was never answered`);
  }

  eventTypes(id: string): Promise<string[]> {
    return eventTypes(this.#system, id);
  }

  /** No request is stuck: the worker ends what runs, everything else can be cancelled, and each workflow hears of it and ends (ST-22). */
  async end(ids: string[]): Promise<void> {
    this.#armed = null;
    this.#planned = [];
    await Promise.all(this.#victims.map((victim) => victim.url()));
    await this.sql(`update executions set lease_expires_at = clock_timestamp() - interval '1 ms' where status = 'running'`);
    await eventually(async () => (await this.#idsIn('running')).length === 0, waitMs);
    for (const id of await this.#idsIn('pending', 'approved', 'dispatched', 'execution_lost')) {
      const { status, text } = await this.ask({ method: 'POST', path: `/api/requests/${id}/cancel` }, this.tokens.admin);
      // Its answer may have been lost in an earlier attempt.
      const isOver = status === 409 && (await this.#idsIn('cancelled')).includes(id);
      if (status !== 200 && !isOver) throw new Error(`request ${id} is stuck: ${status} ${text}`);
    }
    await eventually(async () => (await countNews(this.#system)) === 0, waitMs);
    for (const id of ids) await this.#untilFollowed(id);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** The next server that is ready, if any. */
  #nextServer(): Victim {
    this.#turn += 1;
    const servers = this.#victims.filter(({ name }) => name.startsWith('server'));
    const inTurn = servers.map((_, more) => servers[(this.#turn + more) % servers.length]!);
    return inTurn.find(({ isReady }) => isReady) ?? inTurn[0]!;
  }

  async #idsIn(...statuses: string[]): Promise<string[]> {
    const rows = await this.sql<{ id: string }>('select id from requests where status = any($1)', [statuses]);
    return rows.map(({ id }) => id);
  }

  async #isCancelOfRunning({ path }: Http): Promise<string | null> {
    const id = /([0-9a-f-]{36})\/cancel$/.exec(path)?.[1];
    return id !== undefined && (await this.#idsIn('running')).includes(id) ? id : null;
  }

  async #untilWished(id: string, answered: Promise<Answer | null>): Promise<void> {
    let isOver = false;
    void answered.then(() => {
      isOver = true;
    });
    const isWished = () => this.sql('select 1 from requests where id = $1 and cancel_requested_at is not null', [id]);
    await eventually(async () => isOver || (await isWished()).length > 0, waitMs);
  }

  async #untilFollowed(id: string): Promise<void> {
    let seen: Answer['body'];
    await eventually(async () => {
      seen = (await this.ask({ method: 'GET', path: `/api/requests/${id}/workflow` }, this.tokens.admin)).body;
      return seen.in_step && seen.live === null;
    }, waitMs).catch((error: Error) => {
      throw new Error(`${error.message}: the workflow of ${id}: ${JSON.stringify(seen)}`);
    });
  }
}

async function callOnce(url: string, http: Http, token: string, hangUp?: AbortSignal): Promise<Answer | null> {
  const { method, path, body } = http;
  try {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      signal: AbortSignal.any([AbortSignal.timeout(waitMs), ...(hangUp ? [hangUp] : [])]),
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  } catch {
    return null;
  }
}
