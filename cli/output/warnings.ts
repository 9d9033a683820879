import type { JsonText } from '../../lib/json/read.js';
import type { Context } from '../context.js';

/** Tells what the server warns of in an answer that it gave. */
export function warnOf({ output }: Pick<Context, 'output'>, answer: JsonText): void {
  for (const warning of answer.get('warnings')?.items() ?? [])
    output.warn((warning.string() ?? warning.text).replace(/^share_with: /, '--share-with: '));
}
