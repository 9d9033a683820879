import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Input } from '../../cli/shell/input.js';
import { type Lexis, splitStatements } from '../../cli/shell/statements.js';

const both: Lexis[] = ['postgresql', 'mysql'];

describe('statements (CL-53)', () => {
  it.each<[string, string[], string]>([
    ['select 1', [], 'select 1'],
    ['select 1; select 2 ;', ['select 1', 'select 2'], ''],
    [';; ;', [], ''],
    ['-- a note;\n/* and; more */ ;', [], ''],
    ["select ';', 'it''s;'; x", ["select ';', 'it''s;'"], ' x'],
    ['select ";"', [], 'select ";"'],
    ['insert into t values (1); -- done', ['insert into t values (1)'], ''],
    [
      'create rule r as on insert to t do (delete from a; delete from b);',
      ['create rule r as on insert to t do (delete from a; delete from b)'],
      '',
    ],
    ['select 1 -- ; not yet\n+ 1;', ['select 1 -- ; not yet\n+ 1'], ''],
    ['select 日本;x', ['select 日本'], 'x'],
  ])('%j', (text, statements, rest) => {
    for (const lexis of both) expect(splitStatements(text, lexis)).toMatchObject({ statements, rest });
  });

  it.each<[Lexis, string, string[]]>([
    ['postgresql', "select e'it\\'s; x', U&'\\0041;', some'\\'; y;", ["select e'it\\'s; x', U&'\\0041;', some'\\'", 'y']],
    [
      'postgresql',
      'do $$ begin; end; $$; do $a$ $b$; $$; $a$; select a$1; x$1;',
      ['do $$ begin; end; $$', 'do $a$ $b$; $$; $a$', 'select a$1', 'x$1'],
    ],
    ['postgresql', '/* a /* b; */ c; */ select 1;', ['/* a /* b; */ c; */ select 1']],
    ['postgresql', 'select 1 # 2; x;', ['select 1 # 2', 'x']],
    ['mysql', 'select \'it\\\'s; x\', "a\\";", `;`;', ['select \'it\\\'s; x\', "a\\";", `;`']],
    ['mysql', 'select 1 # ; no\n; select 5--1; -- ; no\nx;', ['select 1 # ; no', 'select 5--1', '-- ; no\nx']],
    ['mysql', '/* a /* b; */ select 1; /*!50000 drop table t */;', ['/* a /* b; */ select 1', '/*!50000 drop table t */']],
    ['mysql', 'select $$; select 2;', ['select $$', 'select 2']],
  ])('%s: %j', (lexis, text, statements) => {
    expect(splitStatements(text, lexis)).toEqual({ statements, rest: '', open: null });
  });

  it.each<[Lexis, string, string]>([
    ['postgresql', "select 'a''; select 2;", 'quote'],
    ['postgresql', 'select "a; b;', 'quote'],
    ['postgresql', 'select $x$; $$;', 'quote'],
    ['postgresql', "select e'\\'; x;", 'quote'],
    ['postgresql', '/* /* */ ;', 'comment'],
    ['postgresql', 'select (1; 2;', 'parenthesis'],
    ['mysql', 'select `a; b;', 'quote'],
    ['mysql', "select 'a\\'; select 2;", 'quote'],
    ['mysql', '/* ;', 'comment'],
  ])('%s: %j stays open', (lexis, text, open) => {
    expect(splitStatements(text, lexis)).toEqual({ statements: [], rest: text, open });
  });

  it('splits what was joined, whatever the quoted parts hold (property)', () => {
    const quoted = fc.string().map((text) => `'${text.replaceAll("'", "''").replaceAll('\\', '')}'`);
    const part = fc.oneof(quoted, fc.constantFrom('select', '1', '(a, b)', '"x;y"', '/* ; */ z', '日'));
    const statement = fc.array(part, { minLength: 1 }).map((parts) => `do ${parts.join(' ')}`);
    fc.assert(
      fc.property(fc.array(statement), fc.constantFrom(...both), (all, lexis) => {
        expect(splitStatements(all.map((one) => `${one};\n`).join(''), lexis)).toEqual({ statements: all, rest: '', open: null });
      }),
    );
  });

  it('never hangs, and gives back all of a text (property)', () => {
    const sign = fc.constantFrom(
      "'",
      '"',
      '`',
      '$',
      '$$',
      '$a$',
      '/*',
      '*/',
      '--',
      '#',
      '\n',
      ';',
      '(',
      ')',
      '\\',
      'e',
      'x',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(sign, { maxLength: 40 }), fc.constantFrom(...both), (signs, lexis) => {
        const text = signs.join('');
        const { statements, rest } = splitStatements(text, lexis);
        let at = 0;
        for (const statement of statements) {
          const found = text.indexOf(statement, at);
          expect(found).toBeGreaterThanOrEqual(at);
          at = found + statement.length;
        }
        expect(text.endsWith(rest)).toBe(true);
      }),
    );
  });

  it('takes long texts in a moment', () => {
    for (const long of [
      "'".repeat(99_999),
      '$'.repeat(100_000),
      '/*'.repeat(50_000),
      '('.repeat(100_000),
      `'${'\\'.repeat(100_000)}`,
    ])
      for (const lexis of both) expect(splitStatements(long, lexis).statements).toEqual([]);
  });
});

describe('lines become statements', () => {
  const sqlOf = (lines: string[]) => {
    const input = new Input('postgresql');
    return lines.map((line) => input.add(line).map((item) => (item.kind === 'statement' ? item.sql : item.words)));
  };

  it('at the semicolon, wherever the line ends; a command only where a statement may begin', () => {
    expect(sqlOf(['select 1', '\\d', '+ 1; select', '2;', ' \\d  items ', '', '-- ;', 'select 3;'])).toEqual([
      ...[[], [], ['select 1\n\\d\n+ 1'], ['select\n2'], [['\\d', 'items']]],
      ...[[], [], ['select 3']],
    ]);
  });

  it('is emptied when a statement is longer than any server takes', () => {
    const input = new Input('postgresql');
    input.add(`select '${'x'.repeat(150_000)}`);
    expect(() => input.add('x'.repeat(60_000))).toThrow(RangeError);
    expect([input.isEmpty, input.add('select 1;')]).toEqual([true, [{ kind: 'statement', sql: 'select 1' }]]);
  });
});
