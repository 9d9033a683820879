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

/** What is wrong with a value of agent.toml, in the words of server.toml. A message of our own schema stays. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key') return 'is no database or environment name';
  if (!/^(?:Invalid|Too) /.test(issue.message)) return issue.message;
  if (issue.code === 'invalid_type') {
    if (issue.message.endsWith('received undefined')) return 'is required';
    return `must be ${kinds[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small') return issue.origin === 'array' ? 'must not be empty' : `must be at least ${issue.minimum}`;
  if (issue.code !== 'too_big') return issue.message;
  if (issue.origin === 'array') return `must have at most ${issue.maximum} entries`;
  return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
}
