import { eventually } from '../support/processes.js';
import type { System } from '../support/system.js';
import { expectStatus, type PatientCalls } from './calls.js';
import { endSilentLeases, waitMs } from './looks.js';
import { type Kind, patiently, type Target, type Write } from './targets.js';

/** A write and the request that asked for it. */
export interface Played extends Write {
  id: string;
}

/** A live agent sends a heartbeat every 2 s. */
export const silentSecs = 6;

/** Makes requests of alice that write to targets, and brings them to an end. */
export function createWrites({ system, calls, targets }: { system: System; calls: PatientCalls; targets: readonly Target[] }) {
  const statusesOf = async (played: readonly Played[]) => {
    const sql = 'select id, status from requests where id = any($1)';
    const { rows } = await patiently(() =>
      system.database.query<{ id: string; status: string }>(sql, [played.map(({ id }) => id)]),
    );
    return new Map(rows.map(({ id, status }) => [id, status]));
  };
  const areOpen = async (played: readonly Played[]) =>
    [...(await statusesOf(played)).values()].some((status) => status === 'dispatched' || status === 'running');
  /** What is not over yet, worded for a failure message. */
  const openOnes = async (played: readonly Played[]): Promise<string> => {
    const statuses = await statusesOf(played);
    const open = played.filter(({ id }) => ['dispatched', 'running'].includes(statuses.get(id) ?? ''));
    return open.map(({ id, target, key, kind }) => `${id} ${statuses.get(id)} (${target.name} ${key}, ${kind.mode})`).join(', ');
  };
  const lostOf = async (played: readonly Played[]) => {
    const statuses = await statusesOf(played);
    return played.filter(({ id }) => statuses.get(id) === 'execution_lost');
  };
  const createOn = (target: Target, count: number, only?: Kind): Promise<Played[]> =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const key = nextKey(target);
        const kind = only ?? target.kinds[key % target.kinds.length]!;
        const { operation = 'execute_dml' } = kind;
        const id = await calls.create(`${target.name}-${key}`, 'staging', kind.detail(key), { database: target.name, operation });
        return { id, target, key, kind };
      }),
    );
  return {
    createOn,
    /** Creates this many on each target, of all kinds in turn; they run at once. */
    create: async (count: number): Promise<Played[]> =>
      (await Promise.all(targets.map((target) => createOn(target, count)))).flat(),
    /** Those whose outcome is not known. */
    lostOf,
    /** Runs lost ones again. */
    async resume(lost: readonly Played[]): Promise<readonly Played[]> {
      await Promise.all(
        lost.map(async ({ id }) => {
          const answer = await calls.act(system.tokens.alice, id, 'resume');
          // Made by a call whose answer was lost.
          if (answer.status !== 409) expectStatus(answer, 200);
        }),
      );
      return lost;
    },
    areOpen,
    /** Waits until each has ended, or was lost because its agent is gone. */
    async settle(played: readonly Played[]): Promise<void> {
      await eventually(async () => {
        await endSilentLeases(system, silentSecs);
        return !(await areOpen(played));
      }, 3 * waitMs).catch(async (error: Error) => {
        throw new Error(`${error.message}: ${await openOnes(played)}\n${system.agent.log().slice(-2000)}`);
      });
    },
  };
}

const keys = new WeakMap<Target, number>();
function nextKey(target: Target): number {
  const key = (keys.get(target) ?? 0) + 1;
  keys.set(target, key);
  return key;
}

/** What the gateway says about a write, and what its target says. */
export async function stateOf({ database }: System, { id, target, key, kind }: Played) {
  const { rows } = await database.query<{ status: string; outcome: string | null; error_message: string | null }>(
    `select r.status, e.outcome, e.error_message from requests r left join executions e on e.request_id = r.id and e.fence = r.fence where r.id = $1`,
    [id],
  );
  const what = `${target.name} ${key}: ${kind.detail(key).slice(0, 200)}`;
  return { id, what, ...rows[0]!, changes: kind.changes, applied: await kind.applied(target, key) };
}
