import { describe, expect, it } from 'vitest';
import { judge } from '../../../domain/request/judge.js';
import type { Submission } from '../../../domain/request/moves.js';
import type { Outcome, StoredRequest } from '../../../domain/request/types.js';
import { now, requestIn } from '../../support/stored-request.js';
import { eventsOf, outcomeOf, result } from './moves.js';

const asked = { cancelRequestedAt: now - 2000, cancelledBy: 'alice', cancelReason: 'wrong table' };
const before: Record<string, StoredRequest> = {
  running: requestIn('running', { operation: 'execute_dml' }),
  'running,asked': requestIn('running', { operation: 'execute_dml', ...asked }),
  lost: requestIn('execution_lost', { operation: 'execute_dml' }),
  'lost,asked': requestIn('execution_lost', { operation: 'execute_dml', ...asked }),
  'cancelled,lost': requestIn('execution_lost', {
    operation: 'execute_dml',
    ...asked,
    status: 'cancelled',
    cancelledWhileLost: true,
  }),
};

/** AG-45: outcome, `cancelled` as sent (`-` = absent), request afterwards. */
const table = `
outcome          cancelled  running         running,asked   lost            lost,asked      cancelled,lost
committed        -          executed        executed        executed        executed        executed
already_applied  -          executed        executed        executed        executed        executed
committed        true       executed        executed        executed        executed        executed
rolled_back      -          failed          cancelled       failed          cancelled       cancelled
rolled_back      true       failed          cancelled       failed          cancelled       cancelled
rolled_back      false      failed          failed          failed          failed          cancelled
not_started      -          failed          cancelled       failed          cancelled       cancelled
not_started      true       failed          cancelled       failed          cancelled       cancelled
not_started      false      failed          failed          failed          failed          cancelled
partial          -          failed          failed          failed          failed          cancelled
partial          true       failed          failed          failed          failed          cancelled
partial          false      failed          failed          failed          failed          cancelled
unknown          -          execution_lost  execution_lost  execution_lost  execution_lost  cancelled
unknown          true       execution_lost  execution_lost  execution_lost  execution_lost  cancelled
unknown          false      execution_lost  execution_lost  execution_lost  execution_lost  cancelled`;

const said = { '-': null, true: true, false: false } as Record<string, boolean | null>;
const report = (request: StoredRequest, outcome: Outcome, over: Partial<Submission> = {}) =>
  judge(request, result(request.execution!, outcome, over), now);

describe('the result of the newest execution (AG-45, ST-12 to ST-18)', () => {
  it('leads where the table of AG-45 says', () => {
    const [head, ...rows] = table
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const found = rows.map(([outcome, cancelled]) => [
      ...[outcome, cancelled],
      ...head!
        .slice(2)
        .map((name) => outcomeOf(before[name]!, report(before[name]!, outcome as Outcome, { cancelled: said[cancelled!]! }))),
    ]);
    expect(found).toEqual(rows);
  });

  it.each([
    ['running', 'committed', ['execution.completed']],
    ['running', 'partial', ['execution.failed']],
    ['running', 'unknown', ['execution.lost']],
    ['running,asked', 'rolled_back', ['execution.cancelled', 'request.cancelled']],
    ['lost,asked', 'rolled_back', ['execution.cancelled', 'request.cancelled']],
    ['lost', 'rolled_back', ['execution.failed']],
    ['cancelled,lost', 'committed', ['execution.completed']],
    ['cancelled,lost', 'rolled_back', ['execution.late_result']],
  ] as const)('of a request that is %s with %s writes %j', (name, outcome, events) => {
    expect(eventsOf(report(before[name]!, outcome))).toEqual(events);
  });

  it('starts the window in which it may be run again, unless it is cancelled (TT-3, ST-12 to ST-14)', () => {
    for (const outcome of ['committed', 'rolled_back', 'unknown'] as const) {
      const { state } = report(before.running!, outcome).change!;
      expect(state).toMatchObject({ dispatchBy: now + 3_600_000, resolvedAt: now, claimedBy: null });
    }
    expect(report(before['running,asked']!, 'rolled_back').change?.state).not.toHaveProperty('dispatchBy');
  });

  it('keeps the reason of a run whose outcome nobody knows (ST-14)', () => {
    expect(report(before.running!, 'unknown', { errorMessage: 'connection reset' }).change?.state.lostReason).toBe(
      'connection reset',
    );
    expect(report(before.running!, 'unknown', { errorMessage: null }).change?.state.lostReason).toBe('outcome unknown');
  });

  it('counts an execution as lost only while its outcome is unknown (RQ-83, AG-57)', () => {
    const set = (request: StoredRequest, outcome: Outcome) => report(request, outcome).change?.execution?.set;
    expect(set(before.running!, 'unknown')).toMatchObject({ status: 'failed', lost: true, unresolved: true });
    expect(set(before.lost!, 'rolled_back')).toMatchObject({ status: 'failed', lost: false, unresolved: false });
    expect(set(before.lost!, 'committed')).toMatchObject({ status: 'completed', lost: false, unresolved: false });
    expect(set(requestIn('running'), 'unknown')).toMatchObject({ lost: true, unresolved: false });
  });

  it('leaves a cancelled request as it is and tells nobody when its lost run turns out to have failed (ST-18)', () => {
    const { change, refusal } = report(before['cancelled,lost']!, 'rolled_back');
    expect([change?.state, change?.signal, refusal]).toEqual([{}, null, null]);
    expect(change?.execution?.set).toMatchObject({ status: 'failed', outcome: 'rolled_back', submission: 'rolled_back null' });
  });

  it('names the user who asked for the cancel, and none of the addresses of the agent (AU-1, C8)', () => {
    const [execution, request] = report(before['running,asked']!, 'rolled_back').change!.events;
    expect(execution?.actor).toMatchObject({ id: 'agent-1', type: 'agent', peerIp: '10.0.0.9' });
    expect(request).toMatchObject({ reason: 'wrong table', metadata: { cause: 'requested' } });
    expect(request?.actor).toEqual({
      id: 'alice',
      type: 'user',
      tokenId: null,
      peerIp: null,
      clientIp: null,
      clientIpSource: null,
    });
  });

  it('writes what is known and nothing else into the metadata, in the order of the catalogue (AU-22)', () => {
    const texts = (outcome: Outcome, over: Partial<Submission>) =>
      report(before.running!, outcome, over).change!.events.map((event) => JSON.stringify(event.metadata));
    const auditError = { errorClass: 'database', errorMessage: 'deadlock' };
    expect(texts('committed', { rowsAffected: '3', durationMs: 7 })).toEqual([
      '{"fence":1,"outcome":"committed","rows_affected":3,"duration_ms":7}',
    ]);
    expect(texts('committed', {})).toEqual(['{"fence":1,"outcome":"committed"}']);
    expect(texts('partial', { durationMs: 7, auditError })).toEqual([
      '{"fence":1,"outcome":"partial","duration_ms":7,"error_class":"database","error_message":"deadlock"}',
    ]);
    expect(texts('partial', {})).toEqual(['{"fence":1,"outcome":"partial","error_class":"database"}']);
    expect(texts('unknown', {})).toEqual(['{"fence":1,"cause":"unknown"}']);
  });
});
