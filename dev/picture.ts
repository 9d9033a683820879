import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * Creates `docs/demo.svg` from the demo's own output: `npm run demo 2>/dev/null | npx tsx dev/picture.ts`. Ids and times are
 * those of that run; the temporary folder is shown as `.svc`, where `npm start` keeps the same files.
 */
const columns = 128;
const lineHeight = 18;
const characterWidth = 7.85;
const padding = 22;
/** The committed picture. */
export const pictureFile = new URL('../docs/demo.svg', import.meta.url);

interface Line {
  text: string;
  colour: string;
}

export function pictureOf(output: string): string {
  const lines = play(output).flatMap((text) => wrap(text).map((part) => ({ text: part, colour: colourOf(text) })));
  if (!lines.some((line) => line.text.startsWith('$ '))) throw new Error('no demo output on standard input');
  return svg(lines);
}

/** The part for readers: from the play's first sentence to the end of the read on staging. */
function play(output: string): string[] {
  const shown = output
    .replaceAll(/\S*\/svc-demo-\w+\//g, '.svc/')
    .replaceAll('\r', '')
    .split('\n');
  const from = shown.findIndex((line) => line.startsWith('A change to production data'));
  const to = shown.findIndex((line) => line.startsWith('One more request'));
  return shown.slice(from, to).map((line) => line.trimEnd());
}

/** Wraps commands and sentences with an indent, and cuts table rows, as on a terminal of that width. */
function wrap(line: string): string[] {
  if (line.length <= columns) return [line];
  if (!/^(\$|hint|approved|waiting| {4})/.test(line) || /^ +\d{4}-/.test(line))
    return [`${line.slice(0, columns - 1).trimEnd()}…`];
  const space = line.lastIndexOf(' ', columns);
  return [line.slice(0, space), ...wrap(`    ${line.slice(space).trimStart()}`)];
}

function svg(shown: readonly Line[]): string {
  const height = shown.length * lineHeight + 2 * padding;
  const width = Math.ceil(columns * characterWidth + 2 * padding);
  const texts = shown.map((line, index) => textOf(line, padding + (index + 0.8) * lineHeight)).filter((text) => text !== '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13">
<title>One change from request to result, and a read that passes at once</title>
<rect width="100%" height="100%" rx="8" fill="#10151c"/>
${texts.join('\n')}
</svg>
`;
}

function textOf({ text, colour }: Line, y: number): string {
  if (text === '') return '';
  return `<text x="${padding}" y="${y.toFixed(1)}" fill="${colour}" xml:space="preserve">${escaped(text)}</text>`;
}

/** Commands bright, sentences quiet, success green, waiting yellow. */
function colourOf(line: string): string {
  if (line.startsWith('$ ')) return '#7cc4ff';
  if (line.endsWith(':') && /^[A-Z]/.test(line)) return '#8b98a9';
  if (/^(waiting|hint):/.test(line)) return '#e3c26f';
  if (/^(approved|Rows affected|\(\d+ rows?\))|executed/.test(line)) return '#7fd48a';
  return '#d7dee8';
}

function escaped(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  writeFileSync(pictureFile, pictureOf(readFileSync(0, 'utf8')));
