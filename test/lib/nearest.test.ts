import { describe, expect, it } from 'vitest';
import { nearest } from '../../lib/nearest.js';

const known = ['detail', 'reason', 'metadata', 'max_rows', 'listen', 'url'];

describe('nearest', () => {
  it.each([
    ['resaon', 'reason'],
    ['deatil', 'detail'],
    ['meta_data', 'metadata'],
    ['max-row', 'max_rows'],
    ['maxRows', 'max_rows'],
    ['ur', 'url'],
    ['URL', 'url'],
  ])('takes %s for %s', (text, expected) => {
    expect(nearest(text, known)).toBe(expected);
  });

  it.each(['port', 'host', 'sql', 'query', 'x', '', 'agent_token_file', 'd'.repeat(10_000)])(
    'has no neighbour for %.20s',
    (text) => {
      expect(nearest(text, known)).toBeNull();
    },
  );

  it('takes the nearest of several, and the first of equals', () => {
    expect(nearest('rols', ['role', 'rolls', 'roles'])).toBe('role');
    expect(nearest('roless', ['rolling', 'roles'])).toBe('roles');
  });
});
