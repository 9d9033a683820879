import { randomBytes, randomUUID } from 'node:crypto';
import { approvalMacs } from '../crypto/approval-macs.js';
import { brokenPart, decisionCode, requestCode, stateCode } from '../db/vouching.js';
import { approval, requestIn } from '../test/support/stored-request.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions } from './system.js';

/** What the authentication codes of HD-50 cost one move: all are checked, and those of state and decision are computed anew. */
export async function codes({ count = 20_000, warmup = 2000 }: BenchOptions) {
  const macs = approvalMacs(new Uint8Array(randomBytes(32)));
  const request = requestIn('approved', { id: randomUUID(), operation: 'execute_dml' });
  const decisions = Array.from({ length: 4 }, (_, n) => approval(n, `approver-${n}`, 'group:reviewers'));
  const approved = { ...request, decisions };
  const stored = {
    request: requestCode(approved, macs),
    state: stateCode(approved, macs),
    decisions: decisions.map((decision) => decisionCode(approved, decision, macs)),
  };
  const move = () => {
    if (brokenPart(approved, stored, macs) !== null) throw new Error('the codes do not hold');
    stateCode(approved, macs);
    decisionCode(approved, decisions[0]!, macs);
  };
  for (let n = 0; n < warmup; n += 1) move();
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now();
    move();
    times.push((performance.now() - startedAt) * 1000);
  }
  const { user, system } = process.cpuUsage(cpu);
  return {
    moves: count,
    decisions: decisions.length,
    unit: 'us',
    cpu: hundredths((user + system) / count),
    ...percentiles(times),
  };
}
