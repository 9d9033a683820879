import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleText, chosenMigrations } from '../../../domain/migration/bundle.js';
import type { MigrationFile } from '../../../domain/migration/file.js';
import { joinStatus } from '../../../domain/migration/status.js';
import { compareVersions, fileNameOf, isVersion, newVersion } from '../../../domain/migration/version.js';

const version = fc.string({ unit: fc.constantFrom('0', '1', '2', '9', 'A', 'z', '.', '-'), minLength: 1, maxLength: 4 });
/** What a table may hold: characters of every length, some close to each other. */
const anyVersion = fc.string({
  unit: fc.constantFrom('0', 'z', 'é', '\uffee', '\ue000', '\u{10000}', '\u{1f600}'),
  maxLength: 4,
});
const part = fc.record({ sql: fc.string({ unit: 'binary', minLength: 1 }), transactional: fc.boolean(), line: fc.nat() });
const migrations: fc.Arbitrary<MigrationFile[]> = fc
  .uniqueArray(version, { minLength: 1 })
  .chain((versions) =>
    fc.tuple(
      ...versions
        .toSorted()
        .map((one) => fc.record({ version: fc.constant(one), name: fc.constant('x'), up: part, down: fc.option(part) })),
    ),
  );

describe('a bundle', () => {
  it('is the example of the rules, byte for byte (MI-10)', () => {
    const up = { sql: 'CREATE TABLE t (id INT);', transactional: true, line: 2 };
    const dirSha256 = '36daac1a80ad5a168da1fda0c3271eed7ab880380703f286db8a50e3da16e9de';
    expect(bundleText([{ version: '20310101000000', name: 't', up, down: null }], 'up', { dirSha256, maxCount: 1 })).toBe(
      '{"format":"v2","direction":"up","versions":["20310101000000"],"migrations":[{"version":"20310101000000",' +
        '"sql":"CREATE TABLE t (id INT);","transactional":true}],' +
        '"dir_sha256":"36daac1a80ad5a168da1fda0c3271eed7ab880380703f286db8a50e3da16e9de","max_count":1}',
    );
  });

  it('holds the chosen files in file order, each with the SQL of its direction (MI-10, property)', () => {
    fc.assert(
      fc.property(migrations, fc.constantFrom('up', 'down'), fc.option(version), (all, direction, after) => {
        const chosen = chosenMigrations(all, direction, after ?? undefined);
        const bundle = JSON.parse(bundleText(chosen, direction, { dirSha256: 'x', maxCount: null }));
        const expected = all.filter(
          (one) => one[direction] !== null && (after === null || compareVersions(one.version, after) > 0),
        );
        expect(bundle.migrations).toEqual(
          expected.map(({ version, [direction]: part }) => ({ version, sql: part?.sql, transactional: part?.transactional })),
        );
        expect(bundle.versions).toEqual(expected.map((one) => one.version));
        expect(bundle).not.toHaveProperty('max_count');
      }),
    );
  });
});

describe('migrate status', () => {
  it('tells the four states apart (MI-51)', () => {
    expect(joinStatus(['1', '3', '4', '7', '8'], ['1', '2', '5', '4'])).toEqual([
      { version: '1', state: 'applied' },
      { version: '2', state: 'missing file' },
      { version: '3', state: 'out of order' },
      { version: '4', state: 'applied' },
      { version: '5', state: 'missing file' },
      { version: '7', state: 'pending' },
      { version: '8', state: 'pending' },
    ]);
  });

  it('names each version once, in order of bytes, and says of it what is so (MI-22, MI-51, property)', () => {
    fc.assert(
      fc.property(fc.uniqueArray(version), fc.uniqueArray(version), (files, applied) => {
        const lines = joinStatus(files, applied);
        expect(lines.map((line) => line.version)).toEqual([...new Set([...files, ...applied])].sort(compareVersions));
        for (const { version: one, state } of lines) {
          expect(state === 'applied' || state === 'missing file').toBe(applied.includes(one));
          expect(state === 'missing file').toBe(!files.includes(one));
          if (state === 'out of order') expect(applied.some((other) => compareVersions(other, one) > 0)).toBe(true);
          if (state === 'pending') expect(applied.every((other) => compareVersions(other, one) < 0)).toBe(true);
        }
      }),
    );
  });

  it('orders versions as their bytes are (MI-22, property)', () => {
    fc.assert(
      fc.property(anyVersion, anyVersion, (one, other) => {
        expect(Math.sign(compareVersions(one, other))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
      }),
    );
  });
});

describe('a new file', () => {
  it('has the UTC second as its version, later by as many seconds as it takes to be free (MI-06)', () => {
    const now = Date.parse('2026-12-31T23:59:58.900Z');
    expect(newVersion(now, new Set())).toBe('20261231235958');
    expect(newVersion(now, new Set(['20261231235958', '20261231235959']))).toBe('20270101000000');
  });

  it('has a name of lower case letters, digits and underscores, and a version that is one (MI-02, MI-06, property)', () => {
    expect(fileNameOf('1', 'Add E-Mail to Users!')).toBe('1_add_e_mail_to_users_.sql');
    expect(fileNameOf('1', 'Ä😀')).toBe('1___.sql');
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true }),
        (name, now) => {
          const made = newVersion(now.getTime(), new Set());
          expect(made).toMatch(/^\d{14}$/);
          expect(isVersion(made)).toBe(true);
          expect(fileNameOf(made, name)).toMatch(/^\d{14}_[a-z0-9_]*\.sql$/);
        },
      ),
    );
  });
});
