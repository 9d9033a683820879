import { describe, expect, it } from 'vitest';
import type { Move } from '../../../domain/request/moves.js';
import { type Execution, STATUSES, type Status, type StoredRequest } from '../../../domain/request/types.js';
import { actorOf, agent } from '../../support/callers.js';
import { now, requestIn, storedExecution } from '../../support/stored-request.js';
import { ask, claim, result } from './moves.js';

const foreign: Execution = storedExecution({ id: 'c0ffee00-0000-4000-8000-00000000ffff', fence: 1 });
const reportedOf = (request: StoredRequest) => request.execution ?? { ...foreign, fence: Math.max(request.fence, 1) };

/** Requests by status whose clocks are not reached; `cancelled,lost` was cancelled while its execution was lost. */
const stored: Record<string, StoredRequest> = {
  ...Object.fromEntries(STATUSES.map((status) => [status, requestIn(status)])),
  'cancelled,lost': requestIn('execution_lost', { status: 'cancelled', cancelledWhileLost: true, cancelRequestedAt: now - 500 }),
};

const moves: Record<string, (request: StoredRequest) => Move> = {
  claim: () => claim(),
  'claim,foreign': () =>
    claim({ agent: { id: 'agent-1', inScope: false, fences: true, marker: true, bounds: true, markerForm: 2 } }),
  success: (request) => result(reportedOf(request), 'committed'),
  failure: (request) => result(reportedOf(request), 'rolled_back'),
  unknown: (request) => result(reportedOf(request), 'unknown'),
  same: (request) => result(reportedOf(request), 'rolled_back', { text: 'earlier' }),
  other: (request) => result(reportedOf(request), 'committed', {}, 'agent-2'),
  fence: (request) => result(reportedOf(request), 'committed', { fence: 7 }),
};

const agentTable = `
                claim    claim,foreign  success   failure    unknown         same     other  fence
pending         409           403       409       409        409             409        403    400
approved        409           403       409       409        409             409        403    400
dispatched      running       403       409       409        409             409        403    400
running         409           403       executed  failed     execution_lost  failed     403    400
executed        409           403       409       409        409             nothing    403    400
failed          409           403       409       409        409             nothing    403    400
rejected        409           403       409       409        409             409        403    400
cancelled       409           403       409       409        409             409        403    400
cancelled,lost  409           403       executed  cancelled  cancelled       cancelled    403    400
expired         409           403       409       409        409             409        403    400
execution_lost  409           403       executed  failed     execution_lost  failed     403    400`;

describe('what an agent may do in which status (agent.md sections 4 and 6)', () => {
  it('claims what is dispatched in its scope, and ends what runs or was lost under its own execution (AG-30, AG-32, AG-42, AG-45)', () => {
    const [head, ...rows] = agentTable
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    expect(head).toEqual(Object.keys(moves));
    expect(rows.map(([name]) => name)).toEqual(expect.arrayContaining([...STATUSES]));
    const found = rows.map(([name]) => [name, ...head!.map((move) => ask(stored[name!]!, moves[move]!(stored[name!]!)))]);
    expect(found).toEqual(rows);
  });

  it('names no execution to itself that another agent holds, whatever its id (AG-42)', () => {
    const running = requestIn('running');
    const reported = running.execution!;
    expect(ask(running, { ...result(reported, 'committed'), actor: actorOf(agent('agent-2')), agentId: 'agent-2' })).toBe('403');
  });
});

const nothing = { pending: 'nothing', approved: 'nothing', dispatch: 'nothing', lease: 'nothing' };
/** What each clock does in each status when everything that could be reached is reached; every clock but the status's own is silent. */
const clockTable: Record<Status, typeof nothing> = {
  pending: { ...nothing, pending: 'expired' },
  approved: { ...nothing, approved: 'expired' },
  dispatched: { ...nothing, dispatch: 'expired' },
  running: { ...nothing, lease: 'execution_lost' },
  executed: nothing,
  failed: nothing,
  rejected: nothing,
  cancelled: nothing,
  expired: nothing,
  execution_lost: nothing,
};

describe('what clocks do in which status (requests.md section 9, ST-7, ST-8, ST-11, ST-14)', () => {
  const clocks = ['pending', 'approved', 'dispatch', 'lease'] as const;
  const far = now + 10 * 86_400_000;

  it.each(STATUSES)('moves a request in %s by its own clock only, and not before it', (status) => {
    const request = requestIn(status);
    for (const clock of clocks) {
      expect(ask(request, { kind: 'clock', clock }, far)).toBe(clockTable[status][clock]);
      expect(ask(request, { kind: 'clock', clock }, now)).toBe('nothing');
    }
  });

  it.each(STATUSES)('ends the lease of a request in %s only while its newest execution runs (AG-51)', (status) => {
    const request = requestIn(status);
    expect(ask(request, { kind: 'lease', executionId: storedExecution().id }, far)).toBe(clockTable[status].lease);
    expect(ask(request, { kind: 'lease', executionId: foreign.id }, far)).toBe('nothing');
  });
});
