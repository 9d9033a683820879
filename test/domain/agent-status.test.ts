import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agentStatus } from '../../domain/agent-status.js';

const agent = { seenMsAgo: 0, draining: false, inFlight: 0, maxConcurrent: 3 };

describe('the status of an agent (AG-14)', () => {
  it.each([
    ['healthy', {}],
    ['healthy', { seenMsAgo: 60_000, inFlight: 2 }],
    ['offline', { seenMsAgo: 60_001 }],
    ['offline', { seenMsAgo: null, draining: true, inFlight: 3 }],
    ['draining', { draining: true, inFlight: 3 }],
    ['saturated', { inFlight: 3 }],
    ['saturated', { inFlight: 4 }],
    ['saturated', { maxConcurrent: 0 }],
  ])('is %s with %j', (status, over) => {
    expect(agentStatus({ ...agent, ...over })).toBe(status);
  });

  it('is offline whatever else, once it has been silent for more than 60 s', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.nat(), fc.nat(), fc.nat(), (draining, inFlight, maxConcurrent, more) => {
        expect(agentStatus({ seenMsAgo: 60_001 + more, draining, inFlight, maxConcurrent })).toBe('offline');
      }),
    );
  });
});
