import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createStyle } from '../../cli/output/style.js';
import { renderTable, type TableOptions } from '../../cli/output/table.js';
import { displayWidth } from '../../cli/output/width.js';

function onScreen(columns: number, header: string[], rows: string[][], options: Omit<TableOptions, 'style'> = {}) {
  const cuts: (string | null)[] = [];
  const onCut = (column: string | null) => cuts.push(column);
  const style = createStyle(false, { columns, now: () => 0, onCut });
  return {
    lines: renderTable(header, rows, { ...options, style })
      .split('\n')
      .slice(0, -1),
    cuts,
  };
}

describe('tables on a terminal (CL-14)', () => {
  it('cut nothing while there is room', () => {
    const { lines, cuts } = onScreen(40, ['ID', 'NAME'], [['1', 'x'.repeat(36)]]);
    expect([lines[2], cuts]).toEqual([`1   ${'x'.repeat(36)}`, []]);
  });

  it('shrink the widest column first, keep what is of no use in part, and say what is cut', () => {
    const id = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';
    const rows = [[id, 'alice', '12345678901234', 'select a_long_text from somewhere']];
    const options = { whole: new Set([0]), rightAligned: new Set([2]) };
    const { lines, cuts } = onScreen(80, ['ID', 'REQUESTER', 'ROWS', 'SQL'], rows, options);
    expect(lines[2]).toBe(`${id}  alice      12345678901234  select a_lon...`);
    expect(cuts).toEqual([null]);
  });

  it('shrink columns that yield before the others', () => {
    const row = ['x'.repeat(20), 'y'.repeat(20)];
    const line = (columns: number) => onScreen(columns, ['A', 'B'], [row], { yielding: new Set([1]) }).lines[2];
    expect(line(42)).toBe(row.join('  '));
    expect(line(32)).toBe(`${row[0]}  yyyyyyy...`);
    expect(line(28)).toBe('xxxxxxxxxxxxxxx...  yyyyy...');
  });

  it('leave out spare columns one by one before others are hard to read, and name them', () => {
    const rows = [['x'.repeat(20), 'active', 'user', '2026-01-02']];
    const draw = (columns: number) =>
      onScreen(columns, ['ID', 'STATUS', 'TYPE', 'MADE'], rows, { whole: new Set([0]), spare: [3, 2] });
    const shown = (columns: number) => draw(columns).lines.map((line) => line.split(/ {2,}/).length)[2];
    expect([60, 46, 45, 40, 34, 33, 20].map(shown)).toEqual([4, 4, 3, 3, 3, 2, 2]);
    expect(draw(33).lines).toEqual([`ID                    STATUS`, `${'-'.repeat(20)}  ------`, `${'x'.repeat(20)}  active`]);
    expect([draw(46).cuts, draw(45).cuts, draw(33).cuts]).toEqual([[], ['MADE'], ['TYPE', 'MADE']]);
  });

  it('keep at least a readable part of each column where the terminal is too narrow', () => {
    const { lines } = onScreen(20, ['DATABASE', 'A', 'B'], [['production', 'x'.repeat(30), 'y'.repeat(30)]]);
    expect(lines[2]).toBe('produ...  xxxxx...  yyyyy...');
  });

  it('fit whenever they can, and lose no cell that is short (property)', () => {
    const cell = fc.oneof(fc.string({ unit: fc.constantFrom('a', 'é', '日', '👍🏽'), maxLength: 90 }), fc.constant(''));
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 6 })
          .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 })),
        fc.integer({ min: 1, max: 200 }),
        (rows, columns) => {
          const header = rows[0]!.map((_, index) => `C${index}`);
          const { lines } = onScreen(columns, header, rows);
          const least = header.length * 8 + 2 * (header.length - 1);
          for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(columns, least));
          for (const [index, row] of rows.entries())
            for (const text of row) if (displayWidth(text) <= 8) expect(lines[index + 2]).toContain(text);
        },
      ),
    );
  });
});
