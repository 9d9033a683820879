import type { z } from 'zod';

const kinds: Readonly<Partial<Record<z.core.$ZodInvalidTypeExpected, string>>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'a table',
  record: 'a table',
};

/** What is wrong with a value of agent.toml, in the words of server.toml; undefined where the parser's own will do. A text of our schema goes before. */
export function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_key') return 'is no database or environment name';
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is required' : `must be ${kinds[issue.expected as keyof typeof kinds] ?? issue.expected}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small') return issue.origin === 'array' ? 'must not be empty' : `must be at least ${issue.minimum}`;
  if (issue.code !== 'too_big') return undefined;
  if (issue.origin === 'array') return `must have at most ${issue.maximum} entries`;
  return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
}
