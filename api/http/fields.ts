import { z } from 'zod';
import { namePattern, userIdPattern } from '../../domain/selectors.js';

/** What the document says of a field besides its sentence. None of it is checked: what is stored is answered, whatever older versions wrote. */
export interface Facts {
  format?: 'uuid' | 'date-time' | 'uri' | 'byte' | 'email';
  maxLength?: number;
  pattern?: string;
  /** A closed list. */
  enum?: readonly string[];
}

export const text = (about: string, facts: Facts = {}) => z.string().meta({ description: about, ...facts });
export const oneOf = (values: readonly string[], about: string) => text(about, { enum: values });
export const uuid = (about: string) => text(about, { format: 'uuid' });
export const instant = (about: string) => text(about, { format: 'date-time' });
/** Lower-case hexadecimal digits. */
export const hex = (digits: number, about: string) => text(about, { pattern: `^[0-9a-f]{${digits}}$` });
/** 0 or more. */
export const count = (about: string) => z.number().int().meta({ description: about, minimum: 0 });
export const flag = (about: string) => z.boolean().meta({ description: about });
export const list = <Item extends z.ZodType>(item: Item, about: string) => z.array(item).meta({ description: about });
export const anything = (about: string) => z.unknown().meta({ description: about });

/** JSON that goes out as it is stored. The document tells the form that it has since this version. */
export const stored = (form: z.ZodType, about: string) => {
  const { $schema: _, ...shown } = z.toJSONSchema(form, { unrepresentable: 'any' });
  return z.unknown().meta({ ...shown, description: about });
};

/** An object that the document names and shares. */
export const named = <Shape extends z.core.$ZodLooseShape>(id: string, about: string, shape: Shape) =>
  z.object(shape).meta({ id, description: about });

/** A text of a call with so many bytes at most, and so no more characters. */
export const boundedText = (maxBytes: number, about: string) =>
  z
    .string()
    .refine((given) => Buffer.byteLength(given) <= maxBytes, `must be at most ${maxBytes} bytes`)
    .meta({ description: about, maxLength: maxBytes });

export const databaseName = text('The name of the database.', { pattern: namePattern.source });
const environmentName = text('The environment of the database, such as `production`.', { pattern: namePattern.source });
/** A database in an environment, as most answers name it. */
export const pair = { database: databaseName, environment: environmentName };

/** What a policy is for; more of them may match a pair. */
export const policyPair = {
  database: text('The database it is for, or `*` for all.', { maxLength: 63 }),
  environment: text('The environment it is for, or `*` for all.', { maxLength: 63 }),
};

export const userIdText = (about: string) => text(about, { pattern: userIdPattern.source });

/** Of a path. One that names nothing is 404, whatever its form (HT-61). */
export const requestParams = z.object({ id: uuid('The id of the request.') });

export const pageFields = {
  limit: count('The page size that was used.'),
  offset: count('How many items were skipped.'),
};

/** A body that tells nothing; it may be absent (HT-47). */
export const noFields = named('NoFields', 'A body without fields. It may be absent.', {});

/** The answer of a call that has nothing to tell. */
export const nothing = named('Nothing', 'An empty object.', {});
