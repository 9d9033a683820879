import { describe, expect, it } from 'vitest';
import { errorClass } from '../../../domain/audit/error-class.js';

describe('the class of an error (AU-53)', () => {
  it.each([
    ['42P01: relation "t" does not exist', '42P01'],
    ['driver error: query failed: division by zero (SQLSTATE 22012)', 'driver error'],
    ["Incorrect integer value: 'Red mug' for column 'a' at row 1", 'Incorrect integer value'],
    ["Duplicate entry 'mira@example.net' for key 't.a' (error 1062, SQLSTATE 23000)", '23000'],
    ['marker table not available', 'marker table not available'],
    ['SQLSTATE[23000]: Integrity constraint violation', '23000'],
  ])('%s', (text, known) => {
    expect(errorClass(text)).toBe(known);
  });

  it.each([
    '',
    "Duplicate entry 'mira@example.net' for key 't.a'",
    "Duplicate entry 'urn:mira' for key 't.a'",
    'duplicate key value violates unique constraint "t_a_key" Key (a)=(mira) already exists',
    `${'a'.repeat(129)}: x`,
    'first line\nmira: x',
  ])('is empty where the text tells none, because it could quote data: %s', (text) => {
    expect(errorClass(text)).toBe('');
  });
});
