import { describe, expect, it } from 'vitest';
import { checkFlags } from '../../api/requests/check-flags.js';
import { creationBody, creationInput } from '../../api/requests/creation-body.js';

const input = (over: object) => {
  const body = creationBody.parse({ database: 'shop', environment: 'production', detail: 'select 1', ...over });
  return creationInput(body, new TextEncoder().encode(JSON.stringify(body)));
};
const emergency = { emergency: true, reason: 'fire' };

describe('the flags of a creation', () => {
  it.each([
    ['mcp', emergency],
    ['mcp', { ...emergency, allow_ddl: true }],
    ['slack', emergency],
    ['slack', { ...emergency, allow_ddl: true }],
  ] as const)('refuse an emergency that comes through %s: %j (RQ-16)', (channel, over) => {
    expect(() => checkFlags(input(over), undefined)).not.toThrow();
    expect(() => checkFlags(input(over), channel)).toThrow(`an emergency cannot come through ${channel}`);
    expect(() => checkFlags(input({ reason: 'calm' }), channel)).not.toThrow();
  });

  it('look at RQ-14 and RQ-15 before RQ-16', () => {
    expect(() => checkFlags(input({ allow_ddl: true }), 'mcp')).toThrow('allow_ddl needs emergency');
    expect(() => checkFlags(input({ emergency: true }), 'slack')).toThrow('a reason is required');
  });
});
