import { isVersion } from './version.js';

/** What one direction of a migration file runs. */
export interface MigrationPart {
  sql: string;
  transactional: boolean;
  /** Where `sql` begins in the file, counted from 1. */
  line: number;
}

export interface MigrationFile {
  version: string;
  name: string;
  up: MigrationPart;
  down: MigrationPart | null;
}

/** Why a file is not a migration. Lines count from 1. */
export interface FileProblem {
  line: number;
  reason: string;
}

export type ReadFile = { migration: MigrationFile } | { problem: FileProblem };

/** Reads the name and the text of one migration file (MI-02 to MI-04). */
export function readMigrationFile(fileName: string, text: string): ReadFile {
  const underscore = fileName.indexOf('_');
  if (underscore < 0) return problem(1, 'the name has no underscore; it must be <version>_<name>.sql');
  const version = fileName.slice(0, underscore);
  if (!isVersion(version))
    return problem(1, 'the version before the underscore must be 1 to 255 letters, digits, dots and hyphens');
  const markers = findMarkers(text);
  if (!Array.isArray(markers)) return { problem: markers };
  const [up, down] = markers;
  if (!up) return problem(1, 'no line is -- migrate:up');
  const stray = strayLine(text.slice(0, up.start));
  if (stray !== null) return problem(stray, 'only comments may stand before -- migrate:up');
  const upPart = partOf(text, up, down?.start);
  if (upPart === null) return problem(up.line, 'nothing stands after -- migrate:up');
  return {
    migration: {
      version,
      name: fileName.slice(underscore + 1).replace(/\.sql$/, ''),
      up: upPart,
      down: down ? partOf(text, down) : null,
    },
  };
}

/** What stands after a marker, up to the next one; null when that is nothing. */
function partOf(text: string, { end, line, transactional }: Marker, until?: number): MigrationPart | null {
  const raw = text.slice(end, until);
  const sql = trimmed(raw);
  if (sql === '') return null;
  return { sql, transactional, line: line + raw.slice(0, afterBlanks(raw, 0)).split('\n').length - 1 };
}

interface Marker {
  direction: 'up' | 'down';
  transactional: boolean;
  line: number;
  /** Offsets of the marker's line in the text. */
  start: number;
  end: number;
}

/** The markers, up first. A line that only looks like a marker is a problem, because its part would run with the other one. */
function findMarkers(text: string): Marker[] | FileProblem {
  const markers: Marker[] = [];
  let start = 0;
  for (const [index, content] of text.split('\n').entries()) {
    const end = start + content.length;
    const marker = /^[ \t]*--[ \t]*migrate:(?:up|down)/i.test(content) ? readMarker(content, index + 1, start, end) : null;
    if (marker !== null) {
      if (!('direction' in marker)) return marker;
      const { direction, line } = marker;
      if (markers.some((earlier) => earlier.direction === direction))
        return { line, reason: `-- migrate:${direction} stands here a second time` };
      if (direction === 'down' && markers.length === 0) return { line, reason: '-- migrate:down stands before -- migrate:up' };
      markers.push(marker);
    }
    start = end + 1;
  }
  return markers;
}

function readMarker(content: string, line: number, start: number, end: number): Marker | FileProblem {
  const [, direction, rest] = /^[ \t]*-- migrate:(up|down)(.*)$/s.exec(content) ?? [];
  if (direction === undefined || rest === undefined || !/^\s|^$/.test(rest))
    return { line, reason: `a marker is -- migrate:up or -- migrate:down, not ${trimmed(content)}` };
  const options = rest.split(/\s+/).filter((word) => word !== '');
  const unknown = options.find((word) => word !== 'transaction:true' && word !== 'transaction:false');
  if (unknown !== undefined)
    return { line, reason: `unknown word ${unknown}; a marker takes transaction:true or transaction:false` };
  if (options.length > 1) return { line, reason: 'transaction stands here twice' };
  return {
    direction: direction === 'up' ? 'up' : 'down',
    line,
    start,
    end,
    transactional: options[0] !== 'transaction:false',
  };
}

/** The line of the first thing that is neither blank nor comment, or null. */
function strayLine(text: string): number | null {
  let at = afterBlanks(text, 0);
  while (at < text.length) {
    const end = commentEnd(text, at);
    if (end === null) return text.slice(0, at).split('\n').length;
    at = afterBlanks(text, end);
  }
  return null;
}

function commentEnd(text: string, at: number): number | null {
  const isLine = text.startsWith('--', at);
  if (!isLine && !text.startsWith('/*', at)) return null;
  const end = text.indexOf(isLine ? '\n' : '*/', at + 2);
  if (end >= 0) return isLine ? end : end + 2;
  return isLine ? text.length : null;
}

const blanks = ' \t\n\r\f\v';

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && blanks.includes(text[at]!)) at += 1;
  return at;
}

/** Cuts only what SQL takes for white space. */
function trimmed(text: string): string {
  const start = afterBlanks(text, 0);
  let end = text.length;
  while (end > start && blanks.includes(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

function problem(line: number, reason: string): ReadFile {
  return { problem: { line, reason } };
}
