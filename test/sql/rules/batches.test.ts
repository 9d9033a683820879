import { describe, expect, it } from 'vitest';
import { classify, useClassifier } from './classified.js';

useClassifier();

describe('batches and settings (sections 4 and 5)', () => {
  it('SQ-52: a setting is a part of the job that it came with', async () => {
    const verdict = await classify("set timezone = 'UTC'; select 1");
    expect(verdict).toMatchObject({ read: true, statements: [{ kind: 'setting' }, { kind: 'query' }] });
  });

  const late = 'settings must come before all other statements';
  const oneRead = 'in a batch that only reads, only the last statement may return rows';
  const alone = 'a statement that cannot run in a transaction must be the only one';
  it.each<[string, string, string | null]>([
    ['SQ-60', "select 1; set timezone = 'UTC'", late],
    ['SQ-60', "set lock_timeout = 1; delete from t where a = 1; set timezone = 'UTC'", late],
    ['SQ-60', "set lock_timeout = 1; set timezone = 'UTC'; delete from t where a = 1", null],
    ['SQ-61', 'select 1; show all', oneRead],
    ['SQ-61', 'explain select 1; explain select 1', oneRead],
    ['SQ-61', "set timezone = 'UTC'; select 1; select 2", oneRead],
    ['SQ-61', 'set lock_timeout = 1; set lock_timeout = 2', null],
    ['SQ-61', 'select 1; select 2; delete from t where a = 1', null],
    ...[
      'create index concurrently i on t (a)',
      'drop index concurrently i',
      'reindex table concurrently t',
      'reindex (concurrently) index i',
      'vacuum t',
      'vacuum full',
      'alter table t detach partition p concurrently',
    ].flatMap((text): [string, string, string | null][] => [
      ['SQ-62', text, null],
      ['SQ-62', `${text}; delete from t where a = 1`, alone],
      ['SQ-62', `set lock_timeout = 1; ${text}`, alone],
    ]),
    ['SQ-62', 'reindex (concurrently off) table t; delete from t where a = 1', null],
    ['SQ-62', 'alter table t detach partition p finalize; delete from t where a = 1', null],
  ])('%s: of %s says %s', async (_id, text, reason) => {
    const verdict = await classify(text);
    expect(verdict.verdict === 'refused' ? verdict.reason : null).toBe(reason);
  });

  it('SQ-62: it runs outside a transaction', async () => {
    expect(await classify('vacuum t')).toMatchObject({ statements: [{ outsideTransaction: true }] });
    expect(await classify('create index i on t (a)')).toMatchObject({ statements: [{ outsideTransaction: false }] });
  });
});
