import { expect, it } from 'vitest';
import { isUnreachable } from '../../db/errors.js';

it.each(['EAI_AGAIN', 'ENETUNREACH', 'EHOSTDOWN', 'ECONNABORTED', 'ECONNREFUSED'])(
  '%s is a database that cannot be reached (OP-70)',
  (code) => {
    expect(isUnreachable(Object.assign(new Error('x'), { code }))).toBe(true);
  },
);
