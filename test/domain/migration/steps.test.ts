import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSteps, toldSteps } from '../../../domain/migration/steps.js';

const told = (data: unknown) => toldSteps(readSteps(JSON.stringify(data)));

describe('what is told of a migration (MI-44)', () => {
  it('is the versions that were applied or reverted, before a failure too', () => {
    expect(told({ applied: ['1', '2-a.b'], out_of_order: ['1'] })).toEqual({ applied: ['1', '2-a.b'] });
    expect(told({ reverted: [] })).toEqual({ reverted: [] });
    expect(told({ applied_before_failure: ['1'], failed_version: '2', error: 'x' })).toEqual({ applied: ['1'] });
    expect(told({ reverted_before_failure: ['1'] })).toEqual({ reverted: ['1'] });
  });

  it('is nothing where nothing of that kind is said', () => {
    for (const data of [{}, { applied: '1' }, [], null, 'text', { applied_versions: ['1'] }, { applied_count: -1 }])
      expect(told(data)).toEqual({});
    expect(readSteps('{"applied":')).toBeNull();
  });

  it('is their number above 4096 bytes', () => {
    const fits = Array.from({ length: 241 }, () => '20310101000000');
    expect(JSON.stringify(fits).length).toBe(4098);
    expect(told({ applied: fits })).toEqual({ applied_count: 241 });
    expect(told({ applied: fits.slice(1) })).toEqual({ applied: fits.slice(1) });
  });

  it('is their number where the agent told no more, because the list was above the limit of a result (AP-40)', () => {
    expect(told({ applied_count: 9000 })).toEqual({ applied_count: 9000 });
    expect(told({ reverted_before_failure_count: 7, failed_version: '8', error: 'x' })).toEqual({ reverted_count: 7 });
    expect(told({ applied_count: 1.5, reverted_count: '3' })).toEqual({});
  });

  it('never holds what is no version', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constant('drop table t')), { maxLength: 5 }),
        (applied) => {
          const { applied: shown } = told({ applied }) as { applied: string[] };
          expect(shown).toHaveLength(applied.length);
          for (const version of shown) expect(version).toMatch(/^([\w.-]{1,255}|<invalid:\d+>)$/);
        },
      ),
      { examples: [[[{ toString: 0 }]]] },
    );
  });
});
