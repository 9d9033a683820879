import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locate } from '../../config/positions.js';

const text = `# comment = "no"
top = 1 # [not.a.section]
a.b."c d" = ["x", [2, 3], # comment ]
  'y']
[section]
long = """one "two"
[three]\\"""" # quotes at the end
literal = '''
key = 1'''
inline = { one = 1, two.three = { four = "}" } }

[[list]]
name = "]["
[[list.steps]]
[[list.steps]]
who = [ { role = "r" }, { group = "g" } ]
[list.last]
[[list]]
name = 'b'
`;

describe('positions of a TOML file', () => {
  it.each([
    [['top'], 2, 7],
    [['a'], 3, 1],
    [['a', 'b', 'c d'], 3, 13],
    [['a', 'b', 'c d', 1, 1], 3, 23],
    [['a', 'b', 'c d', 2], 4, 3],
    [['section'], 5, 1],
    [['section', 'long'], 6, 8],
    [['section', 'literal'], 8, 11],
    [['section', 'inline', 'two', 'three', 'four'], 10, 42],
    [['list', 0], 12, 1],
    [['list', 0, 'name'], 13, 8],
    [['list', 0, 'steps', 1], 15, 1],
    [['list', 0, 'steps', 1, 'who', 1, 'group'], 16, 35],
    [['list', 0, 'last'], 17, 1],
    [['list', 1, 'name'], 19, 8],
  ])('%j is at %i:%i', (path, line, column) => {
    expect(locate(text).value(path)).toEqual({ line, column });
  });

  it('of a name is where the name is written', () => {
    expect(locate(text).key(['section', 'inline', 'two', 'three'])).toEqual({ line: 10, column: 21 });
  });

  it('of what is missing is that of the nearest table, else the start of the file (CF-60)', () => {
    expect(locate(text).value(['list', 1, 'steps', 0, 'mode'])).toEqual({ line: 18, column: 1 });
    expect(locate(text).value(['missing', 'key'])).toEqual({ line: 1, column: 1 });
  });

  it('are found for any text, with carriage returns and a byte order mark too', () => {
    expect(locate('\uFEFFa = 1\r\n[b]\r\nc = 2').value(['b', 'c'])).toEqual({ line: 3, column: 5 });
    const soup = fc.array(fc.constantFrom('[', ']', '[[', '{', '}', '"', "'", '"""', '=', '.', ',', '#', '\n', 'a', ' ', '\\'), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(soup, (parts) => locate(parts.join('')).value(['a']).line > 0),
      { numRuns: 500 },
    );
  });
});
