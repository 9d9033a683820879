/** JSON texts made of JSON texts, which are kept byte for byte. */

/** The text of an object. Members in `raw` are JSON texts already. */
export function objectText(value: object, raw: Readonly<Record<string, string>> = {}): string {
  const members = Object.entries({ ...value, ...raw }).flatMap(([key, member]) => {
    const text = Object.hasOwn(raw, key) ? raw[key] : JSON.stringify(member);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${members.join(',')}}`;
}

/** The text of an array; the values are JSON texts already. */
export const arrayText = (texts: readonly string[]): string => `[${texts.join(',')}]`;

/** Writes objects that always have the same keys; the values are JSON texts already. */
export function objectWriter(keys: readonly string[]): (texts: readonly string[]) => string {
  const begins = keys.map((key, index) => `${index === 0 ? '{' : ','}${JSON.stringify(key)}:`);
  return (texts) => {
    let text = keys.length === 0 ? '{' : '';
    for (let index = 0; index < begins.length; index++) text += `${begins[index]}${texts[index]}`;
    return `${text}}`;
  };
}

/** The start of the text of an object, up to the value of a further member, which comes in pieces; `closeObject` ends it. */
export function openObject(object: string, key: string): string {
  const before = object.slice(0, -1);
  return `${before}${before === '{' ? '' : ','}${JSON.stringify(key)}:`;
}

/** The end of an object after that member, with further members. */
export function closeObject(value: object = {}): string {
  const after = JSON.stringify(value).slice(1);
  return after === '}' ? after : `,${after}`;
}

/** The inside of a JSON string. For pieces of a text it gives the pieces of that inside. */
export const insideString = (text: string): string => JSON.stringify(text).slice(1, -1);
