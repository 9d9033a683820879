import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memberText } from '../../api/json-member.js';

it('is the exact text of the last member of that name, whatever stands around it (property)', () => {
  const blank = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
  const member = fc.tuple(fc.oneof(fc.constantFrom('result', 're"sult', '__proto__'), fc.string()), fc.json());
  fc.assert(
    fc.property(fc.array(member), blank, (members, gap) => {
      const parts = members.map(([key, value]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${value}${gap}`);
      const expected = members.findLast(([key]) => key === 'result')?.[1].trim() ?? null;
      expect(memberText(`${gap}{${gap}${parts.join(',')}}${gap}`, 'result')).toBe(expected);
    }),
  );
});
