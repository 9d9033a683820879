import { readText } from './expansion.js';
import { type Check, checked, field, integer, MISSING, oneOf, requiredText, texts, UNREAD, words } from './leaf.js';

/** Upper bound of every integer key that names none: what a PostgreSQL integer holds. */
const MAX_INT = 2_147_483_647;

const accept: Check = () => null;
const ruleOf = ({ about }: Check, remark = '') => (about === undefined ? {} : { rule: about + remark });
const between = (min: number, max: number) => (max === MAX_INT ? `at least ${min}` : `${min} to ${max}`);

/** A text that must be given and not be empty. */
export const text = (check: Check = accept) =>
  field({ type: 'string', isRequired: true, ...ruleOf(check) }, UNREAD, (value, fail) => requiredText(value, check, fail));

/** A text with a default; empty is refused. */
export const textOr = (fallback: string, check: Check = accept) =>
  field({ type: 'string', fallback, ...ruleOf(check) }, UNREAD, (value, fail) =>
    value === undefined ? fallback : requiredText(value, check, fail),
  );

/** A text with a default for which empty has a meaning of its own. */
export const textOrEmpty = (fallback: string, check: Check = accept, remark = '') =>
  field({ type: 'string', fallback, ...ruleOf(check, remark) }, UNREAD, (value, fail) =>
    value === undefined ? fallback : (checked(value, check, fail) ?? ''),
  );

/** A text without default: absent and empty are null (CF-5). */
export const optionalText = (check: Check = accept) =>
  field<string | null>({ type: 'string', ...ruleOf(check) }, null, (value, fail) =>
    value === undefined ? null : checked(value, check, fail),
  );

export const int = (fallback: number, min: number, max = MAX_INT, remark = '') =>
  field({ type: 'integer', fallback, rule: between(min, max) + remark }, fallback, (value, fail) =>
    value === undefined ? fallback : integer(value, min, max, fail),
  );

export const optionalInt = (min: number, max = MAX_INT, remark = '') =>
  field<number | null>({ type: 'integer', rule: between(min, max) + remark }, null, (value, fail) =>
    value === undefined ? null : integer(value, min, max, fail),
  );

export const ratio = (fallback: number) =>
  field({ type: 'number', fallback, rule: '0 to 1' }, fallback, (value, fail) => {
    if (value === undefined) return fallback;
    const read = readText(value);
    const isNumeral = typeof value === 'number' || typeof value === 'bigint' || (read?.expanded && /^\d*\.?\d+$/.test(read.text));
    const number = isNumeral ? Number(read?.text ?? value) : Number.NaN;
    return number >= 0 && number <= 1 ? number : fail('must be a number from 0 to 1');
  });

export const bool = (fallback: boolean) =>
  field({ type: 'boolean', fallback }, fallback, (value, fail) => {
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    const read = readText(value);
    if (read?.expanded && (read.text === 'true' || read.text === 'false')) return read.text === 'true';
    return fail('must be true or false');
  });

export const choice = <T extends string>(values: readonly T[], fallback: T) =>
  field({ type: 'string', fallback, rule: values.join(', ') }, fallback, (value, fail) =>
    value === undefined ? fallback : oneOf(value, values, fail),
  );

export const optionalChoice = <T extends string>(values: readonly T[]) =>
  field<T | null>({ type: 'string', rule: values.join(', ') }, null, (value, fail) =>
    value === undefined || readText(value)?.text === '' ? null : oneOf(value, values, fail),
  );

export const requiredChoice = <T extends string>(values: readonly [T, ...T[]]) =>
  field<T>({ type: 'string', isRequired: true, rule: values.join(', ') }, values[0], (value, fail) =>
    value === undefined ? fail(MISSING) : oneOf(value, values, fail),
  );

/** A list of texts without repeats, empty by default. */
export const list = (check: Check = accept) =>
  field({ type: 'list of strings', fallback: [], ...ruleOf(check) }, [UNREAD], (value, fail, tell) =>
    value === undefined ? [] : texts(value, check, fail, tell),
  );

/** A program and its arguments, empty by default. */
export const commandLine = (check: Check = accept) =>
  field({ type: 'list of strings', fallback: [], ...ruleOf(check) }, [UNREAD], (value, fail, tell) =>
    value === undefined ? [] : words(value, check, fail, tell),
  );

/** A list of texts without repeats that must be there and not be empty. */
export const requiredList = (check: Check = accept) =>
  field({ type: 'list of strings', isRequired: true, ...ruleOf(check) }, [UNREAD], (value, fail, tell) => {
    const items = value === undefined ? fail(MISSING) : texts(value, check, fail, tell);
    return items.length === 0 ? fail('must not be empty') : items;
  });

/** A list of texts without repeats, null when absent. */
export const optionalList = (check: Check = accept) =>
  field<string[] | null>({ type: 'list of strings', ...ruleOf(check) }, null, (value, fail, tell) =>
    value === undefined ? null : texts(value, check, fail, tell),
  );
