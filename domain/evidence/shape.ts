import type { JsonText } from '../../lib/json/read.js';

/** Reads a value of one form and no other: no repeated or unknown member, no number that could be read in two ways. */
export type Shape<T> = (json: JsonText, place: string) => T;

export type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** The document does not have the form that it must; `message` names the place. */
export class Malformed extends Error {}

export const text: Shape<string> = (json, place) => {
  const value = json.string();
  if (value === null) throw new Malformed(`${place} must be a string`);
  // Written as UTF-8 it would be the same bytes as U+FFFD, so two texts would have one hash.
  if (/\p{Surrogate}/u.test(value)) throw new Malformed(`${place} holds a lone surrogate`);
  return value;
};

export const matching =
  (form: RegExp, words: string): Shape<string> =>
  (json, place) => {
    const value = text(json, place);
    if (!form.test(value)) throw new Malformed(`${place} must be ${words}`);
    return value;
  };

export const integer: Shape<number> = (json, place) => {
  const value = /^(0|-?[1-9][0-9]{0,15})$/.test(json.text) ? Number(json.text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new Malformed(`${place} must be an integer below 2^53`);
  return value;
};

export const bool: Shape<boolean> = (json, place) => {
  if (json.kind !== 'boolean') throw new Malformed(`${place} must be true or false`);
  return json.text === 'true';
};

export const nullable =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (json, place) =>
    json.kind === 'null' ? null : shape(json, place);

export const oneOf =
  <const T extends string>(...values: readonly T[]): Shape<T> =>
  (json, place) => {
    const value = text(json, place);
    const known = values.find((each) => each === value);
    if (known === undefined) throw new Malformed(`${place} must be one of ${values.join(', ')}`);
    return known;
  };

export const list =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (json, place) => {
    if (json.kind !== 'array') throw new Malformed(`${place} must be an array`);
    return json.items().map((item, at) => shape(item, `${place}[${at}]`));
  };

const optionals = new WeakSet<Shape<unknown>>();

/** For a member that older documents lack: undefined there. */
export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  const own: Shape<T | undefined> = (json, place) => shape(json, place);
  optionals.add(own);
  return own;
}

type Members = Record<string, Shape<unknown>>;
type Read<M extends Members> = { [K in keyof M]: ValueOf<M[K]> };

/** An object with exactly these members. */
export const object = <M extends Members>(members: M): Shape<Read<M>> => objectOf(members, false);

/** An object with at least these members. Others are part of what is signed, and nothing is read from them. */
export const openObject = <M extends Members>(members: M): Shape<Read<M>> => objectOf(members, true);

const objectOf =
  <M extends Members>(members: M, isOpen: boolean): Shape<Read<M>> =>
  (json, place) => {
    if (json.kind !== 'object') throw new Malformed(`${place} must be an object`);
    const found = new Map<string, JsonText>();
    for (const [name, value] of json.entries()) {
      if (found.has(name)) throw new Malformed(`${place} has ${shown(name)} twice`);
      if (!isOpen && !Object.hasOwn(members, name)) throw new Malformed(`${place} has the unknown member ${shown(name)}`);
      found.set(name, value);
    }
    const read = Object.entries(members).map(([name, shape]) => {
      const value = found.get(name);
      if (value === undefined && optionals.has(shape)) return [name, undefined];
      if (value === undefined) throw new Malformed(`${place} lacks ${name}`);
      return [name, shape(value, `${place}.${name}`)];
    });
    return Object.fromEntries(read) as Read<M>;
  };

const shown = (name: string) => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
