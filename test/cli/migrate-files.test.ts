import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMigrations } from '../../cli/migrations/directory.js';
import { runSvc } from './run-svc.js';

const folder = () => mkdtempSync(join(tmpdir(), 'svc-migrations-'));
function filled(files: Record<string, string | Uint8Array>): string {
  const directory = folder();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
  return directory;
}
const read = (directory: string) => readMigrations('migrate up', directory, directory);
const migration = '-- migrate:up\nCREATE TABLE t (id INT);\n-- migrate:down\nDROP TABLE t;\n';

describe('a directory of migrations', () => {
  it('has the sum of the rules over names and contents (MI-11)', () => {
    expect(read(filled({ '20310101000000_t.sql': migration })).sha256).toBe(
      '36daac1a80ad5a168da1fda0c3271eed7ab880380703f286db8a50e3da16e9de',
    );
  });

  it('is read in byte order, without other files, hidden ones and directories (MI-01)', () => {
    const names = ['10_b.sql', '1_a.sql', '1-2_c.sql', 'Z_d.sql', 'a_e.sql'];
    const ignored = ['_1_x.sql', '.2_y.sql', '3_z.SQL', '4_w.txt', 'README.md'];
    const directory = filled(Object.fromEntries([...names, ...ignored].map((name) => [name, migration])));
    mkdirSync(join(directory, '9_directory.sql'));
    const only = filled(Object.fromEntries(names.map((name) => [name, migration])));
    const { migrations, sha256 } = read(directory);
    expect(migrations.map(({ fileName }) => fileName)).toEqual(['1-2_c.sql', '10_b.sql', '1_a.sql', 'Z_d.sql', 'a_e.sql']);
    expect(sha256).toBe(read(only).sha256);
  });

  it('has another sum after any change of a name or a byte (MI-11, property)', () => {
    const file = fc.tuple(fc.integer({ min: 1, max: 99 }), fc.constantFrom('a', 'b', 'c'));
    fc.assert(
      fc.property(fc.uniqueArray(file, { minLength: 1, maxLength: 3, selector: ([version]) => version }), (files) => {
        const contents = Object.fromEntries(files.map(([version, name]) => [`${version}_${name}.sql`, migration]));
        const [first] = Object.keys(contents);
        const renamed = { ...contents, [`${first!.replace('.sql', 'x.sql')}`]: migration };
        delete renamed[first!];
        const sums = [contents, renamed, { ...contents, [first!]: `${migration}\n` }].map((one) => read(filled(one)).sha256);
        expect(new Set(sums).size).toBe(3);
      }),
      { numRuns: 20 },
    );
  });

  it('takes a byte order mark and CRLF as editors write them (MI-04)', () => {
    const { migrations } = read(filled({ '1_a.sql': `\ufeff${migration.replaceAll('\n', '\r\n')}` }));
    expect(migrations[0]!.up.sql).toBe('CREATE TABLE t (id INT);');
  });

  it.each([
    [{ '1.sql': migration }, '1.sql:1: the name has no underscore; it must be <version>_<name>.sql'],
    [{ '1_a.sql': 'SELECT 1' }, '1_a.sql:1: no line is -- migrate:up'],
    [{ '1_a.sql': migration, '1_b.sql': migration }, '1_b.sql:1: 1_a.sql has the version 1 too'],
    [{ '1_a.sql': Buffer.concat([Buffer.from('-- migrate:up\nSELECT '), Buffer.of(0xe4)]) }, '1_a.sql:2: the text is not UTF-8'],
  ])('is refused as a whole, with file, line and reason: %j (MI-05)', async (files, reason) => {
    expect(() => read(filled(files as Record<string, string>))).toThrow(reason);
    const directory = folder();
    writeFileSync(join(directory, 'svc.toml'), `migrations_dir = "."\ndefault_database = "app"\n`);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content as string);
    const result = await runSvc(['migrate', 'up', '--json'], { directory });
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout).error).toMatchObject({
      code: 'config_error',
      message: `migrate up: nothing was sent\n${reason}`,
    });
  });

  it('tells of every bad file at once, at most ten (MI-05)', () => {
    const files = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`${10 + index}_a.sql`, '']));
    expect(() => read(filled(files))).toThrow(/19_a\.sql:1: .*\nand 2 more$/);
  });
});

describe('svc migrate create', () => {
  const now = () => Date.parse('2026-11-21T16:00:00Z');

  it('makes the directory and a file with both markers, whose part is still to be written (MI-06)', async () => {
    const directory = folder();
    const result = await runSvc(['migrate', 'create', 'Add email', '--json'], { directory, now });
    expect(JSON.parse(result.stdout).data).toEqual({
      version: '20261121160000',
      path: 'migrations/20261121160000_add_email.sql',
    });
    expect(readFileSync(join(directory, 'migrations/20261121160000_add_email.sql'), 'utf8')).toMatch(
      /^-- migrate:up\n\s+-- migrate:down\n\s*$/,
    );
    expect(() => readMigrations('migrate up', join(directory, 'migrations'), directory)).toThrow(
      'nothing stands after -- migrate:up',
    );
  });

  it('adds a second for each version that exists (MI-06)', async () => {
    const directory = folder();
    for (const name of ['a', 'b', 'a']) expect((await runSvc(['migrate', 'create', name], { directory, now })).code).toBe(0);
    expect(readdirSync(join(directory, 'migrations'))).toEqual([
      '20261121160000_a.sql',
      '20261121160001_b.sql',
      '20261121160002_a.sql',
    ]);
  });

  it.each([
    ['migrations_dir = "db"\n', [], 'db'],
    ['[databases.shop]\nmigrations_dir = "shop/sql"\n', [], 'shop/sql'],
    ['migrations_dir = "db"\n[databases.shop]\n', [], 'db'],
    ['migrations_dir = "db"\n[databases.shop]\n[databases.crm]\n', ['-d', 'crm'], 'db/crm'],
    ['default_database = "shop"\n[databases.shop]\n[databases.crm]\n', [], 'migrations/shop'],
    ['[databases.shop]\nmigrations_dir = "own"\n[databases.crm]\n', ['-d', 'shop'], 'own'],
    ['', ['-d', 'shop'], 'migrations'],
  ])('writes where the configuration says: %j %j (CL-09)', async (toml, argv, place) => {
    const directory = folder();
    writeFileSync(join(directory, 'svc.toml'), toml);
    expect((await runSvc(['migrate', 'create', 'x', ...argv], { directory, now })).code).toBe(0);
    expect(readdirSync(join(directory, place))).toEqual(['20261121160000_x.sql']);
  });

  it('takes a relative directory from that of the file (CL-04)', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'conf'));
    writeFileSync(join(directory, 'conf/svc.toml'), 'migrations_dir = "../sql"\n');
    const result = await runSvc(['migrate', 'create', 'x', '--config', 'conf/svc.toml'], { directory, now });
    expect(result).toMatchObject({ code: 0, stdout: 'sql/20261121160000_x.sql\n' });
  });

  it('needs to know which database when several are configured (CL-09)', async () => {
    const directory = folder();
    writeFileSync(join(directory, 'svc.toml'), '[databases.shop]\n[databases.crm]\n');
    expect(await runSvc(['migrate', 'create', 'x'], { directory, now })).toMatchObject({ code: 1 });
    expect(readdirSync(directory)).toEqual(['svc.toml']);
  });
});
