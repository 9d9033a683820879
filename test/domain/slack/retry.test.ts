import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterFailure, type FailedCall, giveUpAfterMs, refusesToken } from '../../../domain/slack/retry.js';

const call = (over: Partial<FailedCall> = {}): FailedCall => ({
  kind: 'post',
  failures: 0,
  failingMs: 0,
  joined: false,
  ...over,
});
const following = (error: string, over: Partial<FailedCall> = {}, retryAfterSecs: number | null = null) =>
  afterFailure({ error, retryAfterSecs }, call(over));

const passing = [
  'ratelimited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'network_error',
  'timeout',
  'status_500',
  'status_503',
];

describe('a failed call of Slack', () => {
  it.each(passing)('that may pass is made again: %s (SL-61)', (error) => {
    expect(following(error)).toEqual({ kind: 'retry', ms: 1000 });
    expect(following(error, { failingMs: giveUpAfterMs - 1 })).toMatchObject({ kind: 'retry' });
    expect(following(error, { failingMs: giveUpAfterMs })).toEqual({ kind: 'give_up' });
  });

  it('waits 1 s, doubling to 300 s, and as long as Slack asks for (SL-61)', () => {
    const waits = Array.from({ length: 11 }, (_, failures) => following('status_500', { failures }));
    const seconds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
    expect(waits).toEqual(seconds.map((secs) => ({ kind: 'retry', ms: secs * 1000 })));
    expect(following('ratelimited', {}, 900)).toEqual({ kind: 'retry', ms: 900_000 });
    expect(following('ratelimited', { failures: 4 }, 3)).toEqual({ kind: 'retry', ms: 16_000 });
  });

  it('never waits less than Slack asks for, nor without end (SL-61)', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.option(fc.nat(3600)), (failures, retryAfterSecs) => {
        const next = following('ratelimited', { failures }, retryAfterSecs);
        expect(next.kind === 'retry' && next.ms >= (retryAfterSecs ?? 0) * 1000 && next.ms <= 3_600_000).toBe(true);
      }),
    );
  });

  it('waits a day at most, whatever Slack asks for (SL-61)', () => {
    for (const secs of [86_401, Number('9'.repeat(30))])
      expect(following('ratelimited', {}, secs)).toEqual({ kind: 'retry', ms: 86_400_000 });
  });

  it.each(['channel_not_found', 'is_archived', 'msg_too_long', 'invalid_auth', 'status_404', 'redirected'])(
    'that would fail again is not: %s (SL-62)',
    (error) => {
      for (const kind of ['post', 'update', 'line'] as const) expect(following(error, { kind })).toEqual({ kind: 'give_up' });
    },
  );

  it('for a message that is gone is followed by a new card, only if it was an update (SL-62)', () => {
    expect(following('message_not_found', { kind: 'update' })).toEqual({ kind: 'post_anew' });
    expect(following('message_not_found', { kind: 'line' })).toEqual({ kind: 'give_up' });
  });

  it('for a channel that the bot is not in is followed by joining it, once (SL-62)', () => {
    expect(following('not_in_channel')).toEqual({ kind: 'join' });
    expect(following('not_in_channel', { joined: true })).toEqual({ kind: 'give_up' });
  });

  it('says whether Slack refuses the token (SL-62)', () => {
    expect(['invalid_auth', 'token_revoked', 'account_inactive', 'is_archived'].map(refusesToken)).toEqual([
      ...[true, true, true, false],
    ]);
  });
});
