import { describe, expect, it } from 'vitest';
import { expandText, variablesIn } from '../../lib/expansion.js';

const variables = { A: 'a', EMPTY: '', DOLLAR: `\${A}`, NUL: '\0', GONE: undefined };

describe('variables in the values of server.toml, agent.toml and svc.toml (CF-3, AP-01, CL-04)', () => {
  it.each([
    [`plain $A \${`, null],
    [`-\${A}-`, '-a-'],
    [`\${EMPTY:-d}`, ''],
    [`\${NONE:-d:-e $}`, 'd:-e $'],
    [`\${GONE:-d}`, 'd'],
    [`\${NONE:-}`, ''],
    [`$\${A} $$\${A}`, `\${A} $\${A}`],
    [`\${DOLLAR}`, `\${A}`],
    ['{} $ $$ a}', '{} $ $$ a}'],
  ])('%s', (source, text) => {
    const expanded = expandText(source, variables);
    expect('text' in expanded ? expanded.text : null).toBe(text);
  });

  it.each([
    [`\${NONE}`, 'environment variable NONE is not set'],
    [`\${toString}`, 'environment variable toString is not set'],
    [`\${A:-\${EMPTY}}`, `a default cannot contain \${`],
    [`a\${A`, `unclosed \${`],
    [`\${}`, `no variable name after \${ (write $\${ for a literal \${)`],
    [`\${1A}`, `no variable name after \${ (write $\${ for a literal \${)`],
    [`\${A-x}`, `no variable name after \${ (write $\${ for a literal \${)`],
    ['a\0', 'contains a NUL character'],
    [`\${NUL}`, 'environment variable NUL contains a NUL character'],
  ])('%s is refused: %s', (source, problem) => {
    expect(expandText(source, variables)).toEqual({ problem });
  });

  it('tells whether a variable or a default took part, which an escape is not', () => {
    const isExpanded = (source: string) => expandText(source, variables);
    expect([isExpanded(`\${A}`), isExpanded(`\${NONE:-d}`), isExpanded(`$\${A}`), isExpanded('a')]).toMatchObject([
      { isExpanded: true },
      { isExpanded: true },
      { isExpanded: false },
      { isExpanded: false },
    ]);
  });

  it('names the variables that a text reads', () => {
    expect(variablesIn(`$\${NO} \${A} \${B_2:-\${} \${C:-c}`)).toEqual(['A', 'B_2', 'C']);
  });
});
