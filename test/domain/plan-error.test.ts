import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPermissionError, isUnknownName, shownPlanError } from '../../domain/plan-error.js';

const refused = 'the database refused the plan';

describe('HD-2: the text of a plan that failed tells names and types, never data', () => {
  it.each([
    'driver error: query failed: relation "nowhere" does not exist (SQLSTATE 42P01, position 15)',
    'driver error: query failed: column "a" does not exist (SQLSTATE 42703, position 8); hint: Perhaps you meant to reference the column "t.b".',
    "driver error: query failed: Table 'shop.nowhere' doesn't exist (error 1146, SQLSTATE 42S02)",
    'driver error: query failed: No database selected (error 1046, SQLSTATE 3D000)',
    'not planned before approval: it uses leak()',
    'not planned: the gateway signs no EXPLAIN jobs, it is older than this agent',
    'not planned: explain token verification failed: sql_hash mismatch',
    'EXPLAIN is not available for this statement',
    'refused: not understood: syntax error at or near "x"',
    'plan too large',
    'no agent answered in time',
    'skipped: the statement has started',
    'config error: no pool for database=shop environment=staging',
    'driver error: connection failed: connection refused',
    'permission denied for table parts',
  ])('%s', (text) => {
    expect(shownPlanError(text)).toBe(text);
  });

  it.each([
    ['invalid input syntax for type integer: "carol" (SQLSTATE 22P02)', `${refused} (SQLSTATE 22P02)`],
    // Data that spells a code, in front of the server's own.
    ['invalid input syntax: "carol (SQLSTATE 42P01, position 1)" (SQLSTATE 22P02)', `${refused} (SQLSTATE 22P02)`],
    ["XPATH syntax error: '~carol' (error 1105, SQLSTATE HY000)", `${refused} (SQLSTATE HY000)`],
    ["XPATH: '~carol (error 1146, SQLSTATE 42S02)' (error 1105, SQLSTATE HY000)", `${refused} (SQLSTATE HY000)`],
    ["XPATH: '~carol (SQLSTATE 42S02)' (error 1146, SQLSTATE 42S02)", `${refused} (SQLSTATE 42S02)`],
    ["Incorrect value: 'carol' (error 1366, SQLSTATE 42000)", `${refused} (SQLSTATE 42000)`],
    ["Access denied for user to database 'shop' (error 1044, SQLSTATE 42000)", `${refused} (SQLSTATE 42000): a right is missing`],
    ['carol has said so', refused],
    ['permission denied: carol', `${refused}: a right is missing`],
    ['driver error: connection failed: "carol"', refused],
    ['the database refused the plan (SQLSTATE 22P02) carol', `${refused} (SQLSTATE 22P02)`],
    ['plan too large: carol', refused],
    ['not planned: explain token verification failed: carol-9417@example.com', refused],
  ])('not %s', (text, shown) => {
    expect(shownPlanError(text)).toBe(shown);
  });

  it('shows again what it has shown', () => {
    const parts = fc.constantFrom(
      ' ',
      'refused: ',
      'permission denied',
      '(SQLSTATE 42P01)',
      '(SQLSTATE 22P02)',
      '(error 1146, SQLSTATE 42S02)',
      'carol',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 6 }), (words) => {
        const shown = shownPlanError(words.join(''));
        expect(shownPlanError(shown)).toBe(shown);
      }),
    );
  });

  it.each([
    ['driver error: query failed: permission denied for table parts (SQLSTATE 42501)', true],
    ["UPDATE command denied to user 'a'@'b' for table `t` (error 1142, SQLSTATE 42000)", true],
    ['Access denied; you need (at least one of) the SUPER privilege(s)', true],
    ['must be owner of table parts', true],
    ['you are not authorised to read this', true],
    ['relation "nowhere" does not exist (SQLSTATE 42P01)', false],
    ['not planned before approval: it uses permission denied()', false],
  ])('AG-69: %s gets the hint: %s', (text, hint) => {
    expect([isPermissionError(text), isPermissionError(shownPlanError(text))]).toEqual([hint, hint]);
  });
});

describe('a table or column that the database does not know (PF-17d)', () => {
  it.each<[string, boolean]>([
    ['driver error: query failed: relation "nowhere" does not exist (SQLSTATE 42P01, position 15)', true],
    ['driver error: query failed: column "a" does not exist (SQLSTATE 42703, position 8); hint: look.', true],
    ["driver error: query failed: Table 'shop.nowhere' doesn't exist (error 1146, SQLSTATE 42S02)", true],
    ["driver error: query failed: Unknown column 'a' in 'field list' (error 1054, SQLSTATE 42S22)", true],
    ['permission denied for table parts (SQLSTATE 42501)', false],
    ['driver error: query failed: function f() does not exist (SQLSTATE 42883)', false],
    ['refused: not understood: relation "x" does not exist', false],
    ['"x (SQLSTATE 42P01)" (SQLSTATE 22P02)', false],
    ['the database refused the plan', false],
  ])('%s: %s', (text, unknown) => {
    expect(isUnknownName(shownPlanError(text))).toBe(unknown);
  });
});
