import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanName, clientName } from '../../domain/client-name.js';

const zeroWidth = '\u200b';
const rightToLeft = '\u202e';

describe('what an MCP client calls itself (MC-44)', () => {
  it('is its name and its version, of which either may be missing', () => {
    expect(clientName('Claude Desktop', '1.2.3')).toBe('Claude Desktop 1.2.3');
    expect(clientName('Claude Desktop', '')).toBe('Claude Desktop');
    expect(clientName('', '1.2.3')).toBe('1.2.3');
  });

  it('is "unnamed" where nothing of it can be seen', () => {
    expect(clientName('', '')).toBe('unnamed');
    expect(clientName(` ${zeroWidth}\n`, rightToLeft)).toBe('unnamed');
  });

  it('is one line, whatever separates its words', () => {
    expect(clientName('a\r\nb\tc\u2028d\u00a0\u3000e', ' 1\n')).toBe('a b c d e 1');
  });

  it.each([
    ['a space of no width', zeroWidth],
    ['a turn of the direction', rightToLeft],
    ['an isolate', '\u2066'],
    ['a soft hyphen', '\u00ad'],
    ['a tag', '\u{e0041}'],
    ['the begin of an escape sequence', '\u001b'],
    ['half a character', '\ud83d'],
    ['a character for private use', '\ue000'],
  ])('has a space for %s', (_, hidden) => {
    expect(cleanName(`ad${hidden}${hidden}min`)).toBe('ad min');
    expect(cleanName(`${hidden}admin${hidden}`)).toBe('admin');
  });

  it('keeps letters of any script, accents that combine, and emoji', () => {
    for (const name of ['Çelik', '日本語', 'e\u0301', '😀']) expect(cleanName(name)).toBe(name);
  });

  it('has at most 80 characters of each part, none of them halved', () => {
    expect(clientName('n'.repeat(81), 'v'.repeat(81))).toBe(`${'n'.repeat(80)} ${'v'.repeat(80)}`);
    expect(clientName(`${'n'.repeat(79)} n`, '1')).toBe(`${'n'.repeat(79)} 1`);
    expect(cleanName('😀'.repeat(81))).toBe('😀'.repeat(80));
    // Only the first 1000 units of a text are read; the last of these is the first half of the emoji.
    expect(cleanName(`${'n '.repeat(10)}${zeroWidth.repeat(979)}😀`)).toBe('n '.repeat(10).trim());
  });

  it('shows nothing hidden and no second line of any text (property)', () => {
    const texts = fc.array(fc.nat(0xffff), { maxLength: 200 }).map((units) => String.fromCharCode(...units));
    fc.assert(
      fc.property(fc.oneof(texts, fc.string({ unit: 'binary', maxLength: 200 })), (text) => {
        const name = cleanName(text);
        expect(name).not.toMatch(/\p{C}|(?! )\p{Z}/u);
        expect(name).toBe(name.trim());
        expect([...name].length).toBeLessThanOrEqual(80);
      }),
    );
  });
});
