import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { isUuid } from '../../lib/uuid.js';

it('is an id in the form in which we write them, and nothing else (HT-70)', () => {
  const id = randomUUID();
  expect(isUuid(id)).toBe(true);
  for (const other of ['', id.toUpperCase(), ` ${id}`, `${id}\n`, `{${id}}`, id.replaceAll('-', ''), id.slice(1)])
    expect(isUuid(other)).toBe(false);
});
