import type { Answer } from '../support/api.js';
import type { GatewayCalls } from './gateway-calls.js';

/** Every one of the ten statuses, reached as callers reach it (clocks apart). */
export const reach: Record<string, (calls: GatewayCalls, tokens: { owner: string; approver: string }) => Promise<string>> = {
  pending: (calls, { owner }) => calls.created(owner),
  async approved(calls, tokens) {
    const id = await calls.created(tokens.owner);
    await ok(calls.act(tokens.approver, id, 'approve'));
    return id;
  },
  async dispatched(calls, tokens) {
    const id = await reach.approved!(calls, tokens);
    await ok(calls.act(tokens.owner, id, 'resume'));
    return id;
  },
  async running(calls, tokens) {
    const id = await reach.dispatched!(calls, tokens);
    await calls.claimed(id);
    return id;
  },
  executed: (calls, tokens) => finished(calls, tokens, { success: true, result_data: '{"rows":[]}' }),
  failed: (calls, tokens) => finished(calls, tokens, { success: false, error_message: '42P01: no such table' }),
  async rejected(calls, tokens) {
    const id = await calls.created(tokens.owner);
    await ok(calls.act(tokens.approver, id, 'reject', { comment: 'no' }));
    return id;
  },
  async cancelled(calls, tokens) {
    const id = await calls.created(tokens.owner);
    await ok(calls.act(tokens.owner, id, 'cancel', { reason: 'not needed' }));
    return id;
  },
  async expired(calls, tokens) {
    const id = await calls.created(tokens.owner);
    await calls.fireClock(id, 'pending');
    return id;
  },
  async execution_lost(calls, tokens) {
    const id = await reach.running!(calls, tokens);
    await calls.fireClock(id, 'lease');
    return id;
  },
};

async function finished(calls: GatewayCalls, tokens: { owner: string; approver: string }, result: object): Promise<string> {
  const id = await reach.dispatched!(calls, tokens);
  const { executionId } = await calls.claimed(id);
  await ok(calls.submit(executionId, result));
  return id;
}

async function ok(answer: Promise<Answer>): Promise<void> {
  const { status, text } = await answer;
  if (status !== 200) throw new Error(`${status} ${text}`);
}
