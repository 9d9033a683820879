import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMigrationFile } from '../../../domain/migration/file.js';

const read = (text: string, name = '20310101000000_t.sql') => readMigrationFile(name, text);
const problemOf = (text: string, name?: string) => {
  const answer = read(text, name);
  return 'problem' in answer ? answer.problem : null;
};

describe('a migration file', () => {
  it('has an up part and a down part with surrounding white space cut (MI-03, MI-04)', () => {
    expect(read('-- migrate:up\nCREATE TABLE t (id INT);\n-- migrate:down\n\n  DROP TABLE t;\n \t')).toEqual({
      migration: {
        version: '20310101000000',
        name: 't',
        up: { sql: 'CREATE TABLE t (id INT);', transactional: true, line: 2 },
        down: { sql: 'DROP TABLE t;', transactional: true, line: 5 },
      },
    });
  });

  it.each([
    ['-- migrate:up\nSELECT 1', 'no down line'],
    ['-- migrate:up\nSELECT 1\n-- migrate:down', 'no text after it'],
    ['-- migrate:up\nSELECT 1\n-- migrate:down\n \n', 'only blanks after it'],
  ])('has no down part: %j (%s) (MI-04)', (text) => {
    expect(read(text)).toMatchObject({ migration: { up: { sql: 'SELECT 1' }, down: null } });
  });

  it.each([
    ['-- migrate:up transaction:false\nA\n-- migrate:down\nB', false, true],
    ['-- migrate:up\r\nA\r\n-- migrate:down transaction:false\r\nB\r\n', true, false],
    ['  -- migrate:up   transaction:true  \nA\n\t-- migrate:down\nB', true, true],
  ])('takes options of each part for itself: %j (MI-03)', (text, up, down) => {
    expect(read(text)).toMatchObject({
      migration: { up: { sql: 'A', transactional: up }, down: { sql: 'B', transactional: down } },
    });
  });

  it('may begin with comments and blanks (MI-04)', () => {
    expect(read('-- who: me\n\n/* a\n * b */ /**/\n-- migrate:up\nA')).toMatchObject({ migration: { up: { sql: 'A' } } });
  });

  it.each([
    ['CREATE TABLE t (id INT);', 1, 'no line is -- migrate:up'],
    ['', 1, 'no line is -- migrate:up'],
    ['-- migrate:up\n\n-- migrate:down\nB', 1, 'nothing stands after -- migrate:up'],
    ['-- c\n-- migrate:down\nB\n-- migrate:up\nA', 2, '-- migrate:down stands before -- migrate:up'],
    ['-- migrate:up\nA\n-- migrate:up\nA', 3, '-- migrate:up stands here a second time'],
    ['-- migrate:up\nA\n-- migrate:down\nB\n-- migrate:down', 5, '-- migrate:down stands here a second time'],
    ['-- c\n\nSELECT 1;\n-- migrate:up\nA', 3, 'only comments may stand before -- migrate:up'],
    ['/* open\n-- migrate:up\nA', 1, 'only comments may stand before -- migrate:up'],
    ['-- migrate:up transaction:no\nA', 1, 'unknown word transaction:no; a marker takes transaction:true or transaction:false'],
    ['-- migrate:up transaction:true transaction:true\nA', 1, 'transaction stands here twice'],
    ['-- migrate:up\nA\n--migrate:down\nB', 3, 'a marker is -- migrate:up or -- migrate:down, not --migrate:down'],
    ['-- migrate:up\nA\n-- MIGRATE:DOWN\nB', 3, 'a marker is -- migrate:up or -- migrate:down, not -- MIGRATE:DOWN'],
    ['-- migrate:upgrade\nA', 1, 'a marker is -- migrate:up or -- migrate:down, not -- migrate:upgrade'],
  ])('is refused with line and reason: %j (MI-05)', (text, line, reason) => {
    expect(problemOf(text)).toEqual({ line, reason });
  });

  it.each(['20310101.sql', '_x.sql', `${'1'.repeat(256)}_x.sql`, '2031 01_x.sql', 'ä_x.sql', '1/2_x.sql'])(
    'is refused by its name: %s (MI-02)',
    (name) => {
      expect(problemOf('-- migrate:up\nA', name)?.line).toBe(1);
    },
  );

  it('is named by what stands before the first underscore (MI-02)', () => {
    expect(read('-- migrate:up\nA', '1.2-b_a_b.sql')).toMatchObject({ migration: { version: '1.2-b', name: 'a_b' } });
  });

  it('gives back exactly the texts it was put together from (MI-04, property)', () => {
    const isPlain = (text: string) =>
      text === text.replace(/^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g, '') && text !== '' && !/migrate:/i.test(text);
    const sql = fc
      .string({ unit: fc.constantFrom('a', ';', '\n', '-', '/', '*', "'", ' ', 'ä', '\r', '$', '"') })
      .filter(isPlain);
    const blanks = fc.string({ unit: fc.constantFrom(' ', '\n', '\t', '\r\n') });
    const option = fc.constantFrom('', ' transaction:true', ' transaction:false');
    fc.assert(
      fc.property(sql, fc.option(sql), blanks, option, option, (up, down, gap, upOption, downOption) => {
        const tail = down === null ? '' : `-- migrate:down${downOption}\n${gap}${down}${gap}`;
        expect(read(`-- a comment\n-- migrate:up${upOption}\n${gap}${up}${gap}\n${tail}`)).toMatchObject({
          migration: {
            up: { sql: up, transactional: upOption !== ' transaction:false' },
            down: down === null ? null : { sql: down, transactional: downOption !== ' transaction:false' },
          },
        });
        // Each part begins in the file where it says.
        const text = `-- a comment\n-- migrate:up${upOption}\n${gap}${up}${gap}\n${tail}`;
        const lines = text.split('\n');
        const found = read(text);
        if (!('migration' in found)) return;
        for (const part of [found.migration.up, found.migration.down])
          if (part !== null) expect(lines[part.line - 1]).toContain(part.sql.split('\n')[0]);
      }),
    );
  });

  it('answers for any text at all, with a line that the text has (MI-05, property)', () => {
    const word = fc.constantFrom(
      '-- migrate:up',
      '-- migrate:down',
      '--migrate:up',
      ' transaction:false',
      '\n',
      '/*',
      '*/',
      '--',
      'A',
      ' ',
    );
    fc.assert(
      fc.property(
        fc.array(word).map((words) => words.join('')),
        (text) => {
          const problem = problemOf(text);
          if (problem === null) return;
          expect(problem.line).toBeGreaterThanOrEqual(1);
          expect(problem.line).toBeLessThanOrEqual(text.split('\n').length);
        },
      ),
    );
  });

  it('is read in time that grows with its length', () => {
    const long = ' '.repeat(300_000);
    expect(read(`/*${'*'.repeat(300_000)}*/\n-- migrate:up\nA${long}B\n-- migrate:down\n${long}`)).toMatchObject({
      migration: { up: { sql: `A${long}B` }, down: null },
    });
  });
});
