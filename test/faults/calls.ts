import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, callApi } from '../../dev/api-call.js';
import type { System } from '../support/system.js';

export type Act = 'approve' | 'reject' | 'cancel' | 'resume';

const firstPauseMs = 100;
/** A test's own timeout ends it before; this only bounds the loop. */
const maxAttempts = 6000;
/** More often than anything is killed. */
const maxResumes = 10;

export type PatientCalls = ReturnType<typeof patientCalls>;

/** Learns the answer to each single call, or why there was none. */
type Hearer = (call: string, answer: Answer | Error) => void;

/**
 * Calls as a careful client makes them (HT-114): what is not answered, or with 503, is repeated at the next server until it is answered.
 * A key makes repeated creations one request; repeated decisions end with a 409 that says that they have been made.
 */
export function patientCalls({ entries, tokens }: System, hear: Hearer = () => {}) {
  let turn = 0;
  const call = async (token: string, method: 'GET' | 'POST', path: string, body?: Record<string, unknown>): Promise<Answer> => {
    for (let attempt = 1; attempt < maxAttempts; attempt += 1) {
      turn += 1;
      const server = entries[turn % entries.length]!;
      const answer = await callApi({ server, token }, method, path, body).catch((error: Error) => error);
      hear(`${method} ${path}`, answer);
      if (!(answer instanceof Error) && answer.status !== 503) return answer;
      await sleep(firstPauseMs);
    }
    throw new Error(`${method} ${path} was never answered`);
  };
  const act = (token: string, id: string, what: Act) => call(token, 'POST', `/api/requests/${id}/${what}`);
  const show = async (id: string) => expectStatus(await call(tokens.alice, 'GET', `/api/requests/${id}`), 200);
  return {
    call,
    act,
    show,
    statusOf: async (id: string) => (await show(id)).status as string,
    /** Creates a request of alice under a key; answers its id. */
    async create(
      key: string,
      environment: string,
      detail = 'select 1',
      more: { database?: string; operation?: string } = {},
    ): Promise<string> {
      const fields = { database: 'shop', environment, detail, idempotency_key: key, ...more };
      return expectStatus(await call(tokens.alice, 'POST', '/api/requests', fields), 201, 200).id as string;
    },
    /** Bob approves, alice resumes; either may have happened in a call whose answer was lost. */
    async decide(id: string): Promise<void> {
      refuseUnlessMade(await act(tokens.bob, id, 'approve'));
      refuseUnlessMade(await act(tokens.alice, id, 'resume'));
    },
    /** Waits until the request was executed, resuming it each time its agent was lost. */
    async untilExecuted(id: string): Promise<void> {
      for (let resumes = 0; resumes <= maxResumes; ) {
        const { status } = expectStatus(await call(tokens.alice, 'GET', `/api/requests/${id}?wait=2`), 200);
        if (status === 'executed') return;
        if (status === 'dispatched' || status === 'running') continue;
        if (status !== 'execution_lost') throw new Error(`request ${id} is ${status}`);
        refuseUnlessMade(await act(tokens.alice, id, 'resume'));
        resumes += 1;
      }
      throw new Error(`request ${id} was lost again and again`);
    },
    result: async (id: string) => expectStatus(await call(tokens.alice, 'GET', `/api/requests/${id}/result/content`), 200),
    /** What operators see of the workflow beside the stored request (OP-74). */
    workflow: async (id: string) =>
      expectStatus(await call(tokens.admin, 'GET', `/api/requests/${id}/workflow`), 200) as { in_step: boolean; live: unknown },
  };
}

export function expectStatus({ status, body }: Answer, ...expected: number[]): Answer['body'] {
  if (!expected.includes(status)) throw new Error(`expected ${expected.join(' or ')}, got ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** A decision whose answer was lost was made all the same: then its repetition is refused with these words. Meanwhile the request may have run. */
function refuseUnlessMade(answer: Answer): void {
  if (answer.status === 409 && /already (approved|dispatched)|has run once/.test(String(answer.body.error))) return;
  expectStatus(answer, 200);
}

/** Long polls that wait at one server until their request moves; resolves once the server has them all. */
export async function waitAt({ servers, tokens }: System, server: number, ids: readonly string[]): Promise<Promise<Answer>[]> {
  const get = (path: string) => callApi({ server: servers[server]!.url, token: tokens.alice }, 'GET', path);
  const waits = ids.map((id) => get(`/api/requests/${id}?wait=60`));
  for (const wait of waits) wait.catch(() => {});
  // Sent on other connections: answered after those before it were read.
  for (let n = 0; n < 5; n += 1) await get('/api/me');
  return waits;
}
