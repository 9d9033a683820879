import { expect, test } from 'vitest';
import { csvText, jsonText, ndjsonText, tsvText } from '../../console/format/export.js';
import { columnWidth, filtered, isNumeric, moved } from '../../console/format/grid.js';
import { readJson } from '../../lib/json/read.js';
import { viewResult } from '../../lib/result-view.js';

const gridOf = (columns: string[], rows: string) => {
  const view = viewResult(readJson(JSON.stringify({ result_data: { columns, rows: 0 } }).replace('"rows":0', `"rows":${rows}`)));
  return { columns: view.columns, rows: view.rows! };
};

test('a download keeps all digits of a number, and tells NULL from empty (RFC 4180)', () => {
  const grid = gridOf(
    ['id', 'name', 'note'],
    '[{"id":9007199254740993,"name":"","note":null},{"id":1.0,"name":"NULL","note":"a,\\"b\\"\\r\\nc"}]',
  );
  expect(csvText(grid, { neutralised: false })).toBe('id,name,note\r\n9007199254740993,,NULL\r\n1.0,"NULL","a,""b""\r\nc"\r\n');
  expect(ndjsonText(grid)).toBe(
    '{"id":9007199254740993,"name":"","note":null}\n{"id":1.0,"name":"NULL","note":"a,\\"b\\"\\r\\nc"}\n',
  );
  expect(JSON.parse(jsonText(grid))).toHaveLength(2);
  expect(tsvText(grid, { neutralised: false })).toBe('id\tname\tnote\n9007199254740993\t\tNULL\n1.0\tNULL\ta,"b" c\n');
});

test('columns keep their order and none is lost, whatever they are called', () => {
  const digits = gridOf(['b', '1'], '[{"b":1,"1":2}]');
  expect(ndjsonText(digits)).toBe('{"b":1,"1":2}\n');
  const twins = gridOf(['id', 'id'], '[[1,2]]');
  expect(ndjsonText(twins)).toBe('[1,2]\n');
  expect(csvText(twins, { neutralised: false })).toBe('id,id\r\n1,2\r\n');
});

test('formulas are neutralised only when asked, and numbers never', () => {
  const grid = gridOf(['a'], '[{"a":"=1+1"},{"a":"-5"},{"a":"@x"},{"a":"+x"},{"a":"-x"},{"a":""}]');
  expect(csvText(grid, { neutralised: false })).toBe('a\r\n=1+1\r\n-5\r\n@x\r\n+x\r\n-x\r\n""\r\n');
  expect(csvText(grid, { neutralised: true })).toBe("a\r\n'=1+1\r\n-5\r\n'@x\r\n'+x\r\n'-x\r\n\"\"\r\n");
});

test('no part of a cell is a formula for a spreadsheet that separates at other signs', () => {
  const grid = gridOf(['a', 'b;=1'], JSON.stringify([{ a: 'x;=1', 'b;=1': 'y\n@z' }]));
  expect(csvText(grid, { neutralised: true })).toBe("a,b;'=1\r\nx;'=1,\"y\n'@z\"\r\n");
  expect(csvText(grid, { neutralised: false })).toBe('a,b;=1\r\nx;=1,"y\n@z"\r\n');
});

test('what is copied for a spreadsheet has no formulas either, when asked', () => {
  const grid = gridOf(
    ['=a', 'b'],
    JSON.stringify([
      { '=a': '=1+1', b: '\t-x' },
      { '=a': '-5', b: null },
    ]),
  );
  expect(tsvText(grid, { neutralised: true })).toBe("'=a\tb\n'=1+1\t' -x\n-5\tNULL\n");
  expect(tsvText(grid, { neutralised: false })).toBe('=a\tb\n=1+1\t -x\n-5\tNULL\n');
});

test('numbers stand to the right, by their type or their values', () => {
  const { rows } = gridOf(['a', 'b'], '[{"a":1,"b":"x"},{"a":null,"b":"y"}]');
  expect(isNumeric('int8', rows, 1)).toBe(true);
  expect(isNumeric('text', rows, 0)).toBe(false);
  expect(isNumeric(undefined, rows, 0)).toBe(true);
  expect(isNumeric(undefined, rows, 1)).toBe(false);
  expect(columnWidth('a', rows, 0)).toBeGreaterThanOrEqual(6);
  expect(columnWidth('x'.repeat(500), rows, 0)).toBeLessThan(60);
});

test('a filter leaves the rows of which a cell has the text', () => {
  const { rows } = gridOf(['a'], '[{"a":"Ada"},{"a":null},{"a":"Bob"}]');
  expect(filtered(rows, 'ad')).toHaveLength(1);
  expect(filtered(rows, 'NULL')).toHaveLength(1);
  expect(filtered(rows, ' ')).toBe(rows);
});

test('arrow keys stay inside the grid', () => {
  const at = { row: 0, column: 0 };
  expect(moved(at, 'ArrowUp', 3, 2)).toEqual(at);
  expect(moved(at, 'End', 3, 2)).toEqual({ row: 0, column: 1 });
  expect(moved(at, 'Control+End', 3, 2)).toEqual({ row: 2, column: 1 });
  expect(moved(at, 'PageDown', 3, 2)).toEqual({ row: 2, column: 0 });
  expect(moved(at, 'constructor', 3, 2)).toBeNull();
});
