import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type MigrationFile, readMigrationFile } from '../../domain/migration/file.js';
import { fileFault } from '../../lib/file-fault.js';
import { failure } from '../failure.js';

export interface LocalMigration extends MigrationFile {
  fileName: string;
}

export interface MigrationDirectory {
  /** As shown to people. */
  path: string;
  migrations: LocalMigration[];
  /** Identifies the sent state of the directory (MI-11). */
  sha256: string;
}

/**
 * Reads every migration of a directory in byte order of the names (MI-01); a file that breaks a rule is `config_error` with file,
 * line and reason (MI-05).
 */
export function readMigrations(what: string, directory: string, cwd: string): MigrationDirectory {
  const path = relative(cwd, directory) || '.';
  const names = migrationNames(what, directory, path);
  const hash = createHash('sha256');
  const migrations: LocalMigration[] = [];
  const problems: string[] = [];
  for (const name of names) {
    const content = readContent(what, directory, name, path);
    hash.update(name).update('\0').update(createHash('sha256').update(content).digest('hex')).update('\n');
    const read = readFile(name, content);
    if (typeof read === 'string') problems.push(`${join(path, name)}:${read}`);
    else migrations.push(read);
  }
  problems.push(...repeatedVersions(path, migrations));
  if (problems.length > 0) throw problemFailure(what, problems);
  return { path, migrations, sha256: hash.digest('hex') };
}

/** The names of the files that count as migrations (MI-01); empty when the directory is missing and `mayLack` is set. */
export function migrationNames(what: string, directory: string, path: string, mayLack = false): string[] {
  try {
    const names = readdirSync(directory, { encoding: 'buffer' }).map((name) => Buffer.from(Uint8Array.from(name)));
    return names
      .sort(Buffer.compare)
      .map((name) => name.toString('utf8'))
      .filter((name) => name.endsWith('.sql') && !/^[._]/.test(name) && isFile(join(directory, name)));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (isMissing && mayLack) return [];
    const fault = isMissing ? `there is no directory ${path}` : `the directory ${path} cannot be read (${fileFault(error)})`;
    throw failure('config_error', `${what}: ${fault}`, {
      hint: 'migrations_dir in svc.toml names another; svc migrate create NAME makes it',
    });
  }
}

/** Treats a name that is not UTF-8 as a file: no file has the decoded name, and reading it reports the error. */
function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() !== false;
}

function readContent(what: string, directory: string, name: string, path: string): Uint8Array {
  try {
    return Uint8Array.from(readFileSync(join(directory, name)));
  } catch (error) {
    throw failure('config_error', `${what}: ${join(path, name)} cannot be read (${fileFault(error)})`);
  }
}

/** The migration, or `line: reason`. Skips a leading byte order mark. */
function readFile(name: string, content: Uint8Array): LocalMigration | string {
  const text = decode(content);
  if (typeof text === 'number') return `${text}: the text is not UTF-8`;
  const read = readMigrationFile(name, text);
  return 'problem' in read ? `${read.problem.line}: ${read.problem.reason}` : { ...read.migration, fileName: name };
}

/** The text, or the line of the first bytes that are not UTF-8. */
function decode(content: Uint8Array): string | number {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    const lines = Buffer.from(content).toString('utf8').split('\n');
    return lines.findIndex((line) => line.includes('\ufffd')) + 1;
  }
}

function repeatedVersions(path: string, migrations: readonly LocalMigration[]): string[] {
  const first = new Map<string, string>();
  return migrations.flatMap(({ version, fileName }) => {
    const earlier = first.get(version);
    if (earlier !== undefined) return [`${join(path, fileName)}:1: ${earlier} has the version ${version} too`];
    first.set(version, fileName);
    return [];
  });
}

const maxProblems = 10;

function problemFailure(what: string, problems: readonly string[]) {
  const shown = problems.slice(0, maxProblems).join('\n');
  const more = problems.length > maxProblems ? `\nand ${problems.length - maxProblems} more` : '';
  return failure('config_error', `${what}: nothing was sent\n${shown}${more}`);
}
