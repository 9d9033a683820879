import { type Finding, failed, passed } from './doctor-checks.js';
import { expandText, findVariable, type Variables, variablesIn } from './expansion.js';

/** A string of a parsed file with its dotted key. */
export interface KeyedText {
  key: string;
  text: string;
}

/** Every string of a parsed file. */
export function textsOf(value: unknown, key = ''): KeyedText[] {
  if (typeof value === 'string') return [{ key, text: value }];
  if (typeof value !== 'object' || value === null || value instanceof Date) return [];
  return Object.entries(value).flatMap(([name, member]) => textsOf(member, key === '' ? name : `${key}.${name}`));
}

/** Which variables a file reads, and whether they are set; their values are not told (CL-45). `also`: those that are read without being named. */
export function auditVariables(texts: readonly KeyedText[], variables: Variables, also: readonly string[] = []): Finding {
  const names = [...new Set(texts.flatMap(({ text }) => variablesIn(text)))];
  const isSet = (name: string) => findVariable(name, variables) !== undefined;
  const details = Object.fromEntries([...names, ...also].map((name) => [name, isSet(name) ? 'set' : 'not set']));
  const broken = texts.filter(({ text }) => variablesIn(text).length > 0 && 'problem' in expandText(text, variables));
  const unset = names.filter((name) => !isSet(name) && broken.some(({ text }) => variablesIn(text).includes(name)));
  const hint = 'run the doctor with the environment of the program, or set it where that starts';
  if (unset.length > 0) return failed(`the file reads ${unset.join(', ')}: not set here`, { hint, details });
  return passed(names.length === 0 ? 'the file reads none' : `the file reads ${names.join(', ')}`, { details });
}
