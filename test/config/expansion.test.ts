import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expandTree, readText } from '../../config/expansion.js';

/** A piece of a value, and what it becomes. */
interface Piece {
  source: string;
  becomes(variables: Record<string, string>): string;
}

const names = fc.constantFrom('A', 'B_2', '_c');
const soup = (pattern: RegExp) => fc.stringMatching(pattern);
/** No `$` at the end, which would belong to a `{` of the next piece. */
const literal = soup(/^[a-z{}$:" -]{0,8}$/)
  .filter((text) => !text.includes('${') && !text.endsWith('$'))
  .map((text): Piece => ({ source: text, becomes: () => text }));
const escaped = fc.constant<Piece>({ source: '$${', becomes: () => '${' });
const plain = names.map((name): Piece => ({ source: `\${${name}}`, becomes: (variables) => variables[name] ?? '' }));
const withDefault = fc
  .tuple(fc.oneof(names, fc.constant('UNSET')), soup(/^[a-z$:" -]{0,8}$/))
  .map(([name, text]): Piece => ({ source: `\${${name}:-${text}}`, becomes: (variables) => variables[name] ?? text }));

it('a value is expanded piece by piece: literals, $${, values and defaults; what a variable holds is never expanded again (CF-3)', () => {
  const value = soup(/^[a-z0-9${}:"' -]{0,10}$/);
  fc.assert(
    fc.property(
      fc.array(fc.oneof(literal, escaped, plain, withDefault), { maxLength: 6 }),
      fc.record({ A: value, B_2: value, _c: value }),
      (pieces, variables) => {
        const problems: string[] = [];
        const source = pieces.map((piece) => piece.source).join('');
        const expanded = expandTree(source, variables, (_, message) => problems.push(message));
        expect(problems).toEqual([]);
        expect(readText(expanded)?.text).toBe(pieces.map((piece) => piece.becomes(variables)).join(''));
      },
    ),
    { numRuns: 1000 },
  );
});
