export interface SubmittedView {
  id: string;
  /** An id, which is checked against the rights of who submits, and at what the request was shown (SL-32). */
  privateMetadata: string;
  /** `state.values` as Slack sent it. */
  values: unknown;
}

/** What was typed into an input; null if nothing was, or if the value is not a text. */
export const typedIn = ({ values }: SubmittedView, block: string, action: string): string | null =>
  textAt(values, [block, action, 'value']);

/** The value of the option that was chosen; null if none was. */
export const chosenIn = ({ values }: SubmittedView, block: string, action: string): string | null =>
  textAt(values, [block, action, 'selected_option', 'value']);

/** The values of the options that were chosen. Null if one of them is no text. */
export function allChosenIn({ values }: SubmittedView, block: string, action: string): string[] | null {
  const options = at(values, [block, action, 'selected_options']);
  if (!Array.isArray(options)) return [];
  const chosen = options.map((option: unknown) => textAt(option, ['value']));
  return chosen.every((value) => value !== null) ? chosen : null;
}

function textAt(value: unknown, path: readonly string[]): string | null {
  const found = at(value, path);
  return typeof found === 'string' ? found : null;
}

const at = (value: unknown, path: readonly string[]): unknown => path.reduce<unknown>(memberOf, value);

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
