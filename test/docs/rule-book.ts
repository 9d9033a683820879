import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

const book = 'docs/rules';
export const rulePages: readonly string[] = readdirSync(join(root, book)).filter(
  (name) => name.endsWith('.md') && name !== 'README.md',
);

export interface Rule {
  id: string;
  page: string;
  isBuilt: boolean;
}

/** The rules of docs/rules: an id in bold at the start of a list item or table row defines it. */
export function readRules(): Rule[] {
  return rulePages.flatMap((page) => {
    const text = textOf(`${book}/${page}`);
    const isBuilt = !/^\*\*Not built yet\b/m.test(text);
    const found = text.matchAll(/^(?:- |\| )\*\*((?:[A-Z]{2}-I?|[CD])\d+[a-z]?)\*\*( \*\(not built yet\)\*)?/gm);
    return [...found].map(([, id, mark]) => ({ id: id!, page, isBuilt: isBuilt && mark === undefined }));
  });
}

/** `RQ-I3` is `RQ-I` and 3; `ET-21a` is `ET-` and 21, with `a`. */
export function partsOf(id: string): { series: string; number: number; letter: string } {
  const [, series, number, letter] = /^(\D+?)(\d+)([a-z]?)$/.exec(id)!;
  return { series: series!, number: Number(number), letter: letter! };
}

/** A range runs over what lies between its ends, `PF-17a to PF-17e` over the letters; a number alone means its letters too (`RS-43`). */
export class Citations {
  readonly #files = new Map<string, Set<string>>();
  readonly #named = new Set<string>();
  readonly #ids: readonly string[];

  constructor(ids: readonly string[]) {
    this.#ids = ids;
    const prefixes = [...new Set(ids.filter((id) => id.includes('-')).map((id) => id.slice(0, 2)))].join('|');
    this.#pattern = new RegExp(`\\b(?:${prefixes})-I?\\d+[a-z]?\\b|(?<=[(,'"] ?)[CD]\\d{1,2}(?=[),:])`, 'g');
    this.#range = new RegExp(`\\b((?:${prefixes})-I?\\d+[a-z]?) to ((?:${prefixes})-I?\\d+[a-z]?)\\b`, 'g');
  }
  readonly #pattern: RegExp;
  readonly #range: RegExp;

  add(file: string, text: string): void {
    for (const [id] of text.matchAll(this.#pattern)) {
      this.#note(id, file);
      this.#named.add(id);
    }
    for (const [, from, to] of text.matchAll(this.#range)) for (const id of this.#between(from!, to!)) this.#note(id, file);
  }

  #note(id: string, file: string): void {
    const files = this.#files.get(id) ?? new Set();
    this.#files.set(id, files.add(file));
  }

  #between(from: string, to: string): string[] {
    const [a, b] = [partsOf(from), partsOf(to)];
    if (a.series !== b.series) throw new Error(`${from} to ${to} is no range`);
    const place = (one: { number: number; letter: string }) =>
      one.number * 32 + (one.letter === '' ? 0 : one.letter.charCodeAt(0) - 96);
    return this.#ids.filter((id) => {
      const one = partsOf(id);
      return one.series === a.series && place(one) >= place(a) && place(one) <= place(b);
    });
  }

  /** By its own id, not as a part of a range. */
  names(id: string): boolean {
    return this.#named.has(id);
  }

  all(): [id: string, files: string[]][] {
    return [...this.#files].map(([id, files]) => [id, [...files]]);
  }

  has(id: string): boolean {
    const { letter } = partsOf(id);
    return this.#files.has(id) || (letter !== '' && this.#files.has(id.slice(0, -1)) && !this.#ids.includes(id.slice(0, -1)));
  }
}

/** Whether it is a rule, or the number alone of rules that have letters. */
export const isKnown = (id: string, ids: ReadonlySet<string>): boolean => ids.has(id) || ids.has(`${id}a`);

const folders = /^(node_modules|dist|coverage|\..*)$/;
const kinds = /\.(ts|mjs|cjs|js|md|sql|toml|example|ya?ml|zsh|sh)$/;

/** All files of ours that may name a rule. */
export function listFiles(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return folders.test(entry.name) ? [] : listFiles(path);
    return kinds.test(entry.name) ? [path] : [];
  });
}
