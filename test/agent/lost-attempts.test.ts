import { expect, it } from 'vitest';
import { firstLostAt, lostByOthers } from '../../agent/lost-attempts.js';
import type { claimAnswer } from '../../agent/protocol.js';

const noon = Date.parse('2026-01-01T12:00:00.000Z');
const at = (secs: number) => new Date(noon + secs * 1000).toISOString();

/** Of a claim that was made 100 s after noon. */
const claimed = (...secs: number[]) => ({
  ...({} as ReturnType<typeof claimAnswer.parse>),
  server_time: at(100),
  unresolved_executions: secs.map((one, index) => ({ fence: index + 1, execution_id: '', claimed_at: at(one), marker_form: 2 })),
});

it('AP-54: the first lost attempt was claimed so long before the claim as the gateway says', () => {
  expect(firstLostAt(claimed(70, 40), { at: 1_000_000, serverTime: null })).toEqual({ ours: 940_000, earlier: null });
});

it('AP-54, AG-I3: of a claim that is handed out again, the first answer has an old time, and the poll the present one', () => {
  expect(firstLostAt(claimed(40), { at: 1_000_000, serverTime: at(150) })).toEqual({ ours: 890_000, earlier: null });
  expect(firstLostAt(claimed(40), { at: 1_000_000, serverTime: at(90) })).toEqual({ ours: 940_000, earlier: null });
  expect(firstLostAt(claimed(40), { at: 1_000_000, serverTime: 'soon' })).toEqual({ ours: 940_000, earlier: null });
});

it('AP-54: a gateway that names no times is believed', () => {
  const { server_time: _, ...silent } = claimed(40);
  expect(firstLostAt(silent, { at: 1_000_000, serverTime: at(150) })).toBeNull();
  expect(firstLostAt(claimed(), { at: 1_000_000, serverTime: null })).toEqual({ ours: null, earlier: null });
});

it('AP-54: the attempts of agents of earlier versions have a first one of their own', () => {
  const claim = claimed(70, 40, 20);
  claim.unresolved_executions[1]!.marker_form = 1;
  expect(firstLostAt(claim, { at: 1_000_000, serverTime: null })).toEqual({ ours: 920_000, earlier: 940_000 });
});

it('AP-54: an attempt may be of another agent unless the gateway names this one', () => {
  const by = (...agents: (string | undefined)[]) => {
    const attempts = agents.map((agent_id, index) => ({ fence: index + 1, execution_id: '', agent_id }));
    return lostByOthers({ ...claimed(), unresolved_fences: [1], unresolved_executions: attempts }, 'me');
  };
  expect([by('me'), by('me', 'me'), by('me', 'you'), by(undefined), by()]).toEqual([false, false, true, true, true]);
  expect(lostByOthers({ ...claimed(), unresolved_fences: [] }, 'me')).toBe(false);
});
