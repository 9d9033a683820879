import type { Json } from '../canonical-json.js';
import { invalid } from '../errors.js';

/** Refuses values that JSON libraries read or print differently, so that all of them compute the same hash of the canonical form (MI-17, ET-10). `whole` is the place of the text. */
export function checkCanonical(value: Json, whole: string, path = ''): void {
  switch (value.kind) {
    case 'object':
      checkMembers(value.members, whole, path);
      return;
    case 'array':
      for (const [index, item] of value.items.entries()) checkCanonical(item, whole, `${path}[${index}]`);
      return;
    case 'number':
      if (!isPlainInteger(value.text)) throw invalid('numbers must be plain integers of 64 bits', path);
      return;
    case 'scalar':
      if (typeof value.value === 'string' && isBroken(value.value)) throw invalid('half of a surrogate pair', path);
  }
}

function checkMembers(members: readonly [string, Json][], whole: string, path: string): void {
  const seen = new Set<string>();
  for (const [key, member] of members) {
    if (isBroken(key)) throw invalid('half of a surrogate pair in a key', path || whole);
    const at = path === '' ? shown(key) : `${path}.${shown(key)}`;
    if (seen.has(key)) throw invalid('a key appears twice in one object', at);
    seen.add(key);
    checkCanonical(member, whole, at);
  }
}

/** Keeps hints to one short line. */
const shown = (key: string) => (/^[\w-]{1,64}$/.test(key) ? key : '?');

const isBroken = (text: string) => /\p{Surrogate}/u.test(text);

/** `-0` is an integer for some libraries and a fraction for others. */
function isPlainInteger(text: string): boolean {
  if (text.length > 20 || !/^(0|-?[1-9]\d*)$/.test(text)) return false;
  const value = BigInt(text);
  return value >= -(2n ** 63n) && value < 2n ** 63n;
}
