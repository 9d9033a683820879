import fc from 'fast-check';
import { expect, it } from 'vitest';
import { equalText, sha256Hex } from '../../crypto/hash.js';

it('texts are the same when all of their bytes are, wherever they differ (ET-43)', () => {
  const hash = sha256Hex('x');
  expect(equalText(hash, sha256Hex('x'))).toBe(true);
  for (let at = 0; at < hash.length; at += 1) {
    const other = `${hash.slice(0, at)}${hash[at] === '0' ? '1' : '0'}${hash.slice(at + 1)}`;
    expect(equalText(hash, other)).toBe(false);
  }
  for (const other of ['', hash.slice(1), hash.slice(0, -1), `${hash}0`, hash.toUpperCase()])
    expect(equalText(hash, other)).toBe(false);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => equalText(a, b) === (a === b)));
});
