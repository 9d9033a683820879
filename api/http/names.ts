import { z } from 'zod';
import { OPERATIONS, type Operation } from '../../domain/policies.js';
import { isName, namePattern } from '../../domain/selectors.js';

/** A database or environment name (HT-71). */
export const pairName = (about: string) =>
  z
    .string()
    .refine(isName, 'must be a name of 1 to 63 characters: a-z, then a-z, 0-9, _ or -')
    .meta({ description: about, pattern: namePattern.source });

/** By their names and aliases. */
export const operationsByName: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ...OPERATIONS.map((name) => [name, name] as const),
  ...['execute_query', 'execute', 'query'].map((alias) => [alias, 'execute_select'] as const),
]);

const known = new Map(operationsByName).set('', 'execute_select');

/** Accepts a name or an alias, in exact lower case (requests.md section 2). */
export const operationName = z
  .string()
  .meta({ enum: [...known.keys()] })
  .transform((text, context) => {
    const operation = known.get(text);
    if (operation === undefined) context.addIssue({ code: 'custom', message: `must be one of ${OPERATIONS.join(', ')}` });
    return operation ?? z.NEVER;
  });
