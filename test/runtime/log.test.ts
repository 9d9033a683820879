import { expect, it } from 'vitest';
import { createLog } from '../../runtime/log.js';

const hostile = 'type "\u009b2J\u202egnp\u2028\u0085\u007f\n" does not exist';

const logged = (format: 'text' | 'json') => {
  const lines: string[] = [];
  const log = createLog({ process: 'server', version: '1.0.0', level: 'info', format, write: (line) => lines.push(line) });
  log.info({ error: hostile }, `read ${hostile}`);
  return lines;
};

it.each(['text', 'json'] as const)('no value steers the terminal or ends the line of a %s log (OP-92)', (format) => {
  const [line = '', ...more] = logged(format);
  expect(more).toEqual([]);
  expect(line).toMatch(/^[\x20-\x7e]*\n$/);
  expect(line.match(/\\u009b2J\\u202egnp\\u2028\\u0085\\u007f\\n/g)).toHaveLength(2);
});

it('a JSON log says what was said', () => {
  expect(JSON.parse(logged('json')[0] ?? '')).toMatchObject({ msg: `read ${hostile}`, error: hostile });
});
