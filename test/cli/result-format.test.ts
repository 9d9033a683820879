import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderResult } from '../../cli/output/result-format.js';
import { createStyle, type Style } from '../../cli/output/style.js';
import { displayWidth } from '../../cli/output/width.js';
import { readJson } from '../../lib/json/read.js';
import { viewResult } from '../../lib/result-view.js';
import { visible } from '../../lib/visible.js';
import { envelope } from './samples.js';

const pipe = createStyle(false);
const screenOf = (columns: number, onCut = () => {}) => createStyle(false, { columns, now: () => 0, onCut });
const screen = screenOf(80);
const view = (data: string) => viewResult(readJson(envelope(data)));

describe('result formats', () => {
  it('parses csv back to the values of the server, NULL told from the text NULL (CL-I5, property)', () => {
    const cell = fc.oneof(
      fc.constant(null),
      fc.constant('NULL'),
      fc.string(),
      fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', 'a') }),
      fc.integer(),
      fc.boolean(),
    );
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }));
    fc.assert(
      fc.property(table, (rows) => {
        const columns = rows[0]!.map((_, index) => `c${index}`);
        const text = renderResult(view(JSON.stringify({ columns, rows })), 'csv', pipe);
        const wanted = rows.map((row) => row.map((value) => (value === null ? null : String(value))));
        expect(parseCsv(text)).toEqual([columns, ...wanted]);
      }),
    );
  });

  it('gives json with the very texts of the server: big integers, repeated columns, 1.0 (CL-I5)', () => {
    const data =
      '{"columns":["id","id","x"],"rows":[[9007199254740993, 1.0, {"a": 1,"a":2}]],"truncated":true,"truncation_reason":"row limit reached (1)"}';
    expect(renderResult(view(data), 'json', pipe)).toBe(
      '{"columns":["id","id","x"],"rows":[[9007199254740993,1.0,{"a":1,"a":2}]],"rows_affected":null,"truncated":true}\n',
    );
  });

  it('gives json that parses to the values of the server (CL-I5, property)', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.jsonValue(), fc.jsonValue())), fc.boolean(), (rows, toTerminal) => {
        const text = renderResult(view(JSON.stringify({ columns: ['a', 'b'], rows })), 'json', toTerminal ? screen : pipe);
        expect(JSON.parse(text).rows).toEqual(JSON.parse(JSON.stringify(rows)));
      }),
    );
  });

  it('takes columns from the keys of the first row when the result names none (CL-15)', () => {
    expect(renderResult(view('{"rows":[{"b":1,"a":"x"},{"a":"y","b":2}]}'), 'csv', pipe)).toBe('b,a\r\n1,x\r\n2,y\r\n');
  });

  it('loses no cell of a row with repeated keys (CL-15)', () => {
    expect(renderResult(view('{"columns":["id","id"],"rows":[{"id":1,"id":2}]}'), 'csv', pipe)).toBe('id,id\r\n1,2\r\n');
  });

  it('cuts cells over 60 columns on a terminal only, and shows line ends as \\n in a table (CL-14)', () => {
    let cuts = 0;
    const told = screenOf(80, () => {
      cuts += 1;
    });
    const cellOf = (text: string, style: Style) =>
      renderResult(view(JSON.stringify({ columns: ['t'], rows: [[text]] })), 'table', style).split('\n')[2];
    const long = `a\nb${'x'.repeat(80)}`;
    expect([cellOf(long, told), cuts]).toEqual([`a\\nb${'x'.repeat(53)}...`, 1]);
    expect([cellOf('x'.repeat(60), told), cuts]).toEqual(['x'.repeat(60), 1]);
    expect(cellOf(long, pipe)).toBe(`a\\nb${'x'.repeat(80)}`);
  });

  it('pads by display width (CL-14)', () => {
    const text = renderResult(view('{"columns":["name","n"],"rows":[["日本",1],["é",2],["👍🏽",3]]}'), 'table', pipe);
    const lines = text.split('\n').slice(0, 5);
    expect(new Set(lines.map((line) => displayWidth(line))).size).toBe(1);
  });

  it('says how many rows there are, also none (CL-14)', () => {
    expect(renderResult(view('{"columns":["a"],"rows":[]}'), 'table', pipe)).toBe('a\n-\n(0 rows)\n');
    expect(renderResult(view('{"columns":["a"],"rows":[[1],[2]]}'), 'table', pipe)).toMatch(/\(2 rows\)\n$/);
  });

  it('says Rows affected, or OK without a count (CL-16)', () => {
    expect(renderResult(view('{"rows_affected":3}'), 'table', pipe)).toBe('Rows affected: 3\n');
    expect(renderResult(view('null'), 'csv', pipe)).toBe('OK\n');
  });

  it('shows no control character of the server in a table, in vertical, or on a terminal (CL-13)', () => {
    const data = JSON.stringify({ columns: ['a\u001b[2J'], rows: [['\u001b]0;x\u0007\u009b1m\u202e']] });
    for (const format of ['table', 'vertical'] as const)
      expect(renderResult(view(data), format, pipe)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    for (const format of ['csv', 'json'] as const)
      expect(renderResult(view(data), format, screen).replaceAll('\r\n', '\n')).not.toMatch(/[\u001b\u0007\u009b\u202e]/);
  });

  it('escapes what could steer a terminal, line ends included', () => {
    expect(visible('a\u001b[31m\r\n\tb')).toBe('a\\u001b[31m\\r\\n\\tb');
  });
});

/** RFC 4180, with a bare NULL read as null. */
function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  const cell = /("(?:[^"]|"")*"|[^,\r\n"]*)(,|\r\n)/gy;
  for (let match = cell.exec(text); match; match = cell.exec(text)) {
    const raw = match[1]!;
    row.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw === 'NULL' ? null : raw);
    if (match[2] === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
