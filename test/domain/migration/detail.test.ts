import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../domain/canonical-json.js';
import { GatewayError } from '../../../domain/errors.js';
import { checkStatusDetail, readBundle, readRepair } from '../../../domain/migration/detail.js';
import { migrationSummary, toldDirectory } from '../../../domain/migration/summary.js';
import { bundleOf, bundleText } from './bundles.js';

/** What the reader says: the hint of its refusal, or `ok`. */
function told(read: () => unknown): string | null {
  try {
    read();
    return 'ok';
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'validation.failed') throw error;
    return error.hint;
  }
}

const up = (over: object = {}) => JSON.stringify(bundleOf([1, 2, 3], over));
const entry = (over: object) => up({ migrations: [{ version: '1', sql: 'select 1', ...over }], versions: ['1'] });

describe('a bundle (MI-15)', () => {
  it('is read with its versions, texts and defaults', () => {
    expect(readBundle(bundleText([1, 2], { max_count: 2 }), 'up')).toEqual({
      direction: 'up',
      migrations: [
        { version: '20310101000001', sql: 'select 1', transactional: true },
        { version: '20310101000002', sql: 'select 2', transactional: true },
      ],
      dirSha256: 'ab',
      maxCount: 2,
    });
    expect(readBundle(entry({ transactional: false }), 'up').migrations[0]?.transactional).toBe(false);
  });

  it('has no cap when max_count is absent or null, for up only', () => {
    for (const over of [{ max_count: null }, { max_count: undefined }]) {
      expect(readBundle(up(over), 'up').maxCount).toBeNull();
      expect(told(() => readBundle(up({ ...over, direction: 'down' }), 'down'))).toBe('max_count');
    }
    expect(readBundle(up({ direction: 'down', max_count: 1 }), 'down')).toMatchObject({ direction: 'down', maxCount: 1 });
    expect(readBundle(up().replace('"max_count":1', '"max_count":9223372036854775807'), 'up').maxCount).toBe(2 ** 53 - 1);
  });

  it('keeps unknown keys out of the way, nested ones too', () => {
    expect(told(() => readBundle(up({ extra: { a: [null, { b: -1 }] }, __proto__: 1 }), 'up'))).toBe('ok');
  });

  it.each<[string, string, string]>([
    ['no JSON', '{', 'body.detail'],
    ['no object', '[]', 'body.detail'],
    ['no text', '', 'body.detail'],
    ['a JSON string', '"{}"', 'body.detail'],
    ['a mark before it', `\ufeff${up()}`, 'body.detail'],
    ['201 levels', up().replace('}', `,"a":${'['.repeat(200)}${']'.repeat(200)}}`), 'body.detail'],
    ['another format', up({ format: 'v1' }), 'format'],
    ['no format', up({ format: undefined }), 'format'],
    ['the other direction', up({ direction: 'down' }), 'direction'],
    ['a direction that is none', up({ direction: 1 }), 'direction'],
    ['no migrations', up({ migrations: undefined }), 'migrations'],
    ['migrations that are no list', up({ migrations: {} }), 'migrations'],
    ['an empty list', up({ migrations: [], versions: [] }), 'migrations'],
    ['10,001 migrations', bundleText(Array.from({ length: 10_001 }, (_, at) => at)), 'migrations'],
    ['a migration that is no object', up({ migrations: [bundleOf([1]).migrations[0], 5] }), 'migrations[1]'],
    ['a migration without sql', entry({ sql: undefined }), 'migrations[0].sql'],
    ['blank sql', entry({ sql: ' \n\t' }), 'migrations[0].sql'],
    ['sql that is no text', entry({ sql: 1 }), 'migrations[0].sql'],
    ['a transactional of null', entry({ transactional: null }), 'migrations[0].transactional'],
    ['a transactional of "true"', entry({ transactional: 'true' }), 'migrations[0].transactional'],
    ...['', 'a_b', 'é', '1 2', 'a'.repeat(256), '1\n'].map((version): [string, string, string] => [
      `the version ${JSON.stringify(version.slice(0, 9))}`,
      up({ migrations: [{ version, sql: 'select 1' }], versions: [version] }),
      'migrations[0].version',
    ]),
    ['a version twice', bundleText([1, 2, 1]), 'migrations[2].version'],
    ['versions out of order', bundleText([1, 3, 2]), 'migrations[2].version'],
    ['no versions', up({ versions: undefined }), 'versions'],
    ['a version too few', up({ versions: bundleOf([1, 2]).versions }), 'versions[2]'],
    ['a version too many', up({ versions: bundleOf([1, 2, 3, 4]).versions }), 'versions[3]'],
    ['versions in another order', up({ versions: bundleOf([1, 3, 2]).versions }), 'versions[1]'],
    ['a number among the versions', up({ versions: [1, 2, 3] }), 'versions[0]'],
    ['no dir_sha256', up({ dir_sha256: undefined }), 'dir_sha256'],
    ['a dir_sha256 of null', up({ dir_sha256: null }), 'dir_sha256'],
    ...[0, -1, '"1"', 'true', '[1]'].map((count): [string, string, string] => [
      `a max_count of ${count}`,
      up().replace('"max_count":1', `"max_count":${count}`),
      'max_count',
    ]),
  ])('is refused with %s', (_, detail, hint) => {
    expect(told(() => readBundle(detail, 'up'))).toBe(hint);
  });

  it('takes any 10,000 versions of 255 characters and any text as dir_sha256', () => {
    expect(told(() => readBundle(bundleText(Array.from({ length: 10_000 }, (_, at) => at + 1)), 'up'))).toBe('ok');
    const version = 'Z'.repeat(255);
    expect(told(() => readBundle(up({ migrations: [{ version, sql: ';' }], versions: [version], dir_sha256: '' }), 'up'))).toBe(
      'ok',
    );
  });

  it('stands in the byte order of file names, which is not that of versions alone (MI-01)', () => {
    const inOrder = (...versions: string[]) =>
      told(() => readBundle(up({ migrations: versions.map((version) => ({ version, sql: 'select 1' })), versions }), 'up'));
    expect([inOrder('1-2', '1'), inOrder('1.', '1'), inOrder('10', '1', '1a')]).toEqual(['ok', 'ok', 'ok']);
    expect([inOrder('1', '1-2'), inOrder('1', '10')]).toEqual(['migrations[1].version', 'migrations[1].version']);
  });
});

describe('what JSON libraries read differently (MI-17)', () => {
  it.each<[string, string, string]>([
    ['1.0', '"max_count":1.0', 'max_count'],
    ['1e3', '"max_count":1e3', 'max_count'],
    ['a fraction in an unknown key', '"max_count":1,"a":{"b":[0.5]}', 'a.b[0]'],
    ['minus zero', '"max_count":1,"a":-0', 'a'],
    ['2^63', '"max_count":1,"a":9223372036854775808', 'a'],
    ['below -2^63', '"max_count":1,"a":-9223372036854775809', 'a'],
    ['a very long number', `"max_count":1,"a":${'9'.repeat(10_000)}`, 'a'],
    ['a duplicate key', '"max_count":1,"max_count":1', 'max_count'],
    ['a duplicate in another spelling', '"max_count":1,"a\\u0062":1,"ab":2', 'ab'],
    ['a duplicate key further in', '"max_count":1,"a":[{"b":1,"b":1}]', 'a[0].b'],
    ['half a surrogate pair', '"max_count":1,"a":"\\ud800"', 'a'],
    ['half a surrogate pair in a key', '"max_count":1,"\\udc00":1', 'body.detail'],
    ['half a pair that is no escape', '"max_count":1,"a":"\ud800"', 'a'],
  ])('is refused: %s', (_, piece, hint) => {
    expect(told(() => readBundle(up().replace('"max_count":1', piece), 'up'))).toBe(hint);
  });

  it('is not refused at the ends of 64 bits', () => {
    const detail = up({ extra: 'x' }).replace('"x"', '[9223372036854775807,-9223372036854775808,0,"\\ud83d\\udeab"]');
    expect(told(() => readBundle(detail, 'up'))).toBe('ok');
  });

  it('holds for repairs too', () => {
    expect(told(() => readRepair('{"action":"remove","version":"1","a":1.0}'))).toBe('a');
    expect(told(() => readRepair('{"action":"remove","action":"remove","version":"1"}'))).toBe('action');
  });
});

describe('a repair and a status (MI-14)', () => {
  it('are read', () => {
    expect(readRepair('{"action":"mark_applied","version":"1.2-a","why":null}')).toEqual({
      action: 'mark_applied',
      version: '1.2-a',
    });
    expect(readRepair('{"version":"1","action":"remove"}')).toEqual({ action: 'remove', version: '1' });
    expect(['', '{}', ' { } '].map((detail) => told(() => checkStatusDetail(detail)))).toEqual(['ok', 'ok', 'ok']);
  });

  it.each<[string, string]>([
    ['', 'body.detail'],
    ['{}', 'action'],
    ['{"action":"drop","version":"1"}', 'action'],
    ['{"action":"remove"}', 'version'],
    ['{"action":"remove","version":""}', 'version'],
    ['{"action":"remove","version":1}', 'version'],
    ['{"action":"remove","version":"a_b"}', 'version'],
  ])('is no repair: %s', (detail, hint) => {
    expect(told(() => readRepair(detail))).toBe(hint);
  });

  it.each(['{"a":1}', '[]', 'null', 'status', ' '])('is no status: %s', (detail) => {
    expect(told(() => checkStatusDetail(detail))).toBe('body.detail');
  });
});

describe('the summary of a detail (AU-52)', () => {
  it('has versions and cap, and never SQL', () => {
    expect(migrationSummary('migrate_up', bundleText([1, 2]))).toBe(
      'migrate_up: versions=[20310101000001,20310101000002] max_count=1',
    );
    expect(migrationSummary('migrate_up', up({ max_count: null }))).not.toContain('max_count');
    expect(migrationSummary('migrate_down', up({ direction: 'down' }))).toMatch(/^migrate_down: versions=\[.*\] max_count=1$/);
    expect(migrationSummary('migrate_status', '')).toBe('migrate_status: versions=[]');
    expect(migrationSummary('migrate_repair', '{"action":"remove","version":"7"}')).toBe('migrate_repair: versions=[7]');
    const version = 'a'.repeat(65);
    const long = up({ migrations: [{ version, sql: 'drop table secret' }], versions: [version] });
    expect(migrationSummary('migrate_up', long)).toBe('migrate_up: versions=[<invalid:65>] max_count=1');
    expect(migrationSummary('migrate_up', 'drop table secret')).toMatch(/^migrate_up: detail must be/);
  });
});

describe('the directory of a bundle (MI-12)', () => {
  it('is told as its hash, and as a length where that is none', () => {
    for (const hash of ['ab', '36daac1a80ad5a168da1fda0c3271eed7ab880380703f286db8a50e3da16e9de', 'sha256:Zm9v+/=='])
      expect(toldDirectory(hash)).toBe(hash);
    expect([toldDirectory('drop table secret'), toldDirectory(''), toldDirectory('a'.repeat(129))]).toEqual([
      ...['<invalid:17>', '<invalid:0>', '<invalid:129>'],
    ]);
  });
});

describe('any text', () => {
  // What an editor's slip makes of a bundle: a piece is cut out, doubled or exchanged.
  const pieces = fc.constantFrom('', '{', '}', '[', ']', ',', '"', ':', '1', '1.0', 'null', '\\', '"a":1,', '\ud800', '\u0000');
  const mutated = fc
    .tuple(
      fc.constantFrom(up(), bundleText([7]), '{"action":"remove","version":"1"}'),
      fc.array(fc.tuple(fc.nat(400), fc.nat(9), pieces), { maxLength: 4 }),
    )
    .map(([text, slips]) => slips.reduce((all, [at, length, piece]) => all.slice(0, at) + piece + all.slice(at + length), text));
  const texts = fc.oneof(
    mutated,
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.jsonValue().map((value) => up({ extra: value })),
  );

  it('is read or refused with a place, and throws nothing else', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const read of [
          () => readBundle(text, 'up'),
          () => readBundle(text, 'down'),
          () => readRepair(text),
          () => checkStatusDetail(text),
        ])
          expect(told(read)).not.toBeNull();
        expect(migrationSummary('migrate_up', text)).toMatch(/^migrate_up: /);
      }),
      { numRuns: 2000 },
    );
  });

  it('that is accepted has one canonical form, which is accepted as the same bundle (MI-I7)', () => {
    fc.assert(
      fc.property(texts, (text) => {
        if (told(() => readBundle(text, 'up')) !== 'ok') return;
        const canonical = canonicalJson(text);
        expect(canonicalJson(canonical)).toBe(canonical);
        expect(readBundle(canonical, 'up')).toEqual(readBundle(text, 'up'));
      }),
    );
  });
});
