import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { indexTables, type SearchPaths, searchPathOf } from '../../domain/snapshot.js';
import { table } from '../support/snapshots.js';

const tables = ['app', 'public', 'old'].map((schema) => table('items', { schema_name: schema }));
const meant = (paths: SearchPaths | null, schema: string | null = null) =>
  indexTables({ tables, search_path: paths }, 'execute_dml')({ schema, name: 'items' }).map(({ schema_name: name }) => name);
const write = (...path: string[]): SearchPaths => ({ read: ['old'], write: path, unseen: [] });

describe('what a name without a schema means (SQ-81, HD-31)', () => {
  it('is the table of the first schema of the path that has one', () => {
    expect(meant(write('app', 'public'))).toEqual(['app']);
    expect(meant(write('none', 'public', 'app'))).toEqual(['public']);
  });

  it('is no table where no schema of the path has one', () => {
    expect(meant(write())).toEqual([]);
    expect(meant(write('none'))).toEqual([]);
  });

  it('is not known behind a schema that the snapshot does not tell of', () => {
    expect(meant({ ...write('hers', 'public'), unseen: ['hers'] })).toEqual([]);
    expect(meant({ ...write('public', 'hers'), unseen: ['hers'] })).toEqual(['public']);
  });

  it('is any of them where no path is known', () => expect(meant(null)).toEqual(['app', 'public', 'old']));

  it('is never decided by the path when the text names the schema', () => expect(meant(write('app'), 'old')).toEqual(['old']));

  it('goes by the path of the role that reads or writes', () => {
    const snapshot = { tables, search_path: write('app') };
    expect([searchPathOf(snapshot, 'execute_select'), searchPathOf(snapshot, 'execute_dml')]).toEqual([['old'], ['app']]);
    expect(searchPathOf({ tables }, 'execute_dml')).toBeNull();
    expect(indexTables(snapshot, 'execute_select')({ schema: null, name: 'items' })).toEqual([tables[2]]);
  });

  it('is at most one table of the path, and no schema after it changes that', () => {
    const schemas = fc.uniqueArray(fc.constantFrom('app', 'public', 'old', 'none', 'hers'));
    fc.assert(
      fc.property(schemas, fc.subarray(['none', 'hers']), fc.constantFrom('later', 'app', 'hers'), (path, unseen, later) => {
        const found = meant({ ...write(...path), unseen });
        expect(found.length).toBeLessThanOrEqual(1);
        expect(path).toEqual(expect.arrayContaining(found));
        if (found.length === 1) expect(meant({ ...write(...path, later), unseen })).toEqual(found);
      }),
    );
  });
});
