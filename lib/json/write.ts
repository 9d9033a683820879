/** JSON texts put together of JSON texts, which stand in them byte for byte. */

/** The text of an object; members that `raw` names are JSON texts already. */
export function objectText(value: object, raw: Readonly<Record<string, string>> = {}): string {
  const members = Object.entries({ ...value, ...raw }).flatMap(([key, member]) => {
    const text = Object.hasOwn(raw, key) ? raw[key] : JSON.stringify(member);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** The text of an array of values that are JSON texts already. */
export const arrayText = (texts: readonly string[]): string => `[${texts.join(',')}]`;

/** Writes objects with always the same keys; their values are JSON texts already. */
export function objectWriter(keys: readonly string[]): (texts: readonly string[]) => string {
  const begins = keys.map((key, index) => `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`);
  return (texts) => {
    let text = keys.length === 0 ? '{' : '';
    for (let index = 0; index < begins.length; index++) text += `${begins[index]}${texts[index]}`;
    return `${text}}`;
  };
}

/** The text of an object as far as the value of a further member, which comes in pieces; `closeObject` ends it. */
export function openObject(object: string, key: string): string {
  const before = object.slice(0, -1);
  return `${before}${before === '{' ? '' : ','}${JSON.stringify(key)}:`;
}

/** The end of an object behind a member, with the members that come after it. */
export function closeObject(value: object = {}): string {
  const after = JSON.stringify(value).slice(1);
  return after === '}' ? after : `,${after}`;
}

/** What stands between the quotes of a JSON string; of the pieces of a text it is the pieces of that. */
export const insideString = (text: string): string => JSON.stringify(text).slice(1, -1);
