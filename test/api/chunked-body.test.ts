import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readRawJsonBytes } from '../../api/http/body.js';

const limitBytes = 64;

/** A call whose body comes in these pieces. Each is gone from memory once it was told: the next lies in its place. */
function sent(pieces: readonly Uint8Array[]): IncomingMessage {
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  const request = Object.assign(new EventEmitter(), { headers, destroyed: false, resume: () => request });
  const place = new Uint8Array(limitBytes + 1);
  setImmediate(() => {
    for (const piece of pieces) {
      place.set(piece);
      request.emit('data', place.subarray(0, piece.length));
    }
    request.emit('end');
  });
  return request as unknown as IncomingMessage;
}

it('holds of a body in chunks its bytes alone, however small they come (HT-42)', async () => {
  const piece = fc.uint8Array({ minLength: 1, maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
      const whole = Buffer.concat(pieces);
      const read = readRawJsonBytes(sent(pieces), limitBytes);
      if (whole.length <= limitBytes) expect(Buffer.from(await read)).toEqual(whole);
      else await expect(read).rejects.toMatchObject({ code: 'payload.too_large' });
    }),
  );
});
