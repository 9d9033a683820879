import { hash } from 'node:crypto';
import { utf8 } from '../lib/utf8.js';
import { hexBytes, type SigningKey, verifySignature } from './ed25519.js';

/** A text with signatures in the form of C2SP `signed-note`, as transparency logs share it (AU-81). */
export interface NoteKey {
  /** The origin of the log. */
  readonly name: string;
  readonly publicKeyHex: string;
}

/** What the signed text of a log says (C2SP `tlog-checkpoint`). */
export interface TreeCheckpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

const ED25519 = 1;
const MAX_NOTE_CHARACTERS = 1_000_000;
const MAX_SIGNATURES = 100;

/** A key name has no white space and no plus sign, because those end it in notes and in `vkey` texts. */
export const isKeyName = (name: string): boolean => name !== '' && !/[\p{White_Space}+]/u.test(name) && !hasLoneSurrogate(name);

/** The text of a checkpoint with one signature. */
export function signCheckpoint(checkpoint: TreeCheckpoint, key: SigningKey): string {
  const text = checkpointText(checkpoint);
  const signature = Buffer.from(key.sign(text), 'hex');
  const line = Buffer.concat([keyHash({ name: checkpoint.origin, publicKeyHex: key.publicKeyHex }), signature]).toString(
    'base64',
  );
  return `${text}\n— ${checkpoint.origin} ${line}\n`;
}

/** What the note says if the key has signed it; null for any other text. Other signatures are ignored. */
export function openCheckpoint(note: string, key: NoteKey): TreeCheckpoint | null {
  const text = openNote(note, key);
  return text === null ? null : readCheckpoint(text);
}

/** The same, by any of these keys under the name that the note itself gives. */
export function openSignedCheckpoint(note: string, publicKeys: Iterable<string>): TreeCheckpoint | null {
  const name = note.slice(0, note.indexOf('\n'));
  for (const publicKeyHex of publicKeys) {
    const opened = openCheckpoint(note, { name, publicKeyHex });
    if (opened !== null) return opened;
  }
  return null;
}

/** The signed text, if the note is well formed, has a valid signature of this key, and no invalid one of it. */
export function openNote(note: string, key: NoteKey): string | null {
  const parts = noteParts(note);
  if (parts === null) return null;
  const own = keyHash(key);
  const signatures = parts.signatures.filter(({ name, keyHash }) => name === key.name && Buffer.compare(keyHash, own) === 0);
  const fits = ({ signature }: NoteSignature) =>
    verifySignature(key.publicKeyHex, parts.text, Buffer.from(signature).toString('hex'));
  return signatures[0] !== undefined && fits(signatures[0]) ? parts.text : null;
}

/** Reads what a signed text says. `readCheckpoint` alone proves nothing. */
export function readCheckpoint(text: string): TreeCheckpoint | null {
  const [, origin, digits, base64] = /^([^\n]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*$/.exec(text) ?? [];
  if (origin === undefined || digits === undefined || base64 === undefined) return null;
  const root = Uint8Array.from(Buffer.from(base64, 'base64'));
  const size = Number(digits);
  if (!Number.isSafeInteger(size) || Buffer.from(root).toString('base64') !== base64) return null;
  return { origin, size, root };
}

interface NoteSignature {
  name: string;
  keyHash: Uint8Array;
  signature: Uint8Array;
}

function noteParts(note: string): { text: string; signatures: NoteSignature[] } | null {
  if (note.length > MAX_NOTE_CHARACTERS || hasLoneSurrogate(note) || hasControls(note)) return null;
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return null;
  const lines = note.slice(end + 2, -1).split('\n');
  if (lines.length > MAX_SIGNATURES) return null;
  const signatures = lines.map(readSignature);
  return signatures.includes(null) ? null : { text: note.slice(0, end + 1), signatures: signatures as NoteSignature[] };
}

function readSignature(line: string): NoteSignature | null {
  const [, name = '', base64 = ''] = /^— ([^ ]+) ([A-Za-z0-9+/]+={0,2})$/u.exec(line) ?? [];
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  if (!isKeyName(name) || bytes.length < 5 || Buffer.from(bytes).toString('base64') !== base64) return null;
  return { name, keyHash: bytes.slice(0, 4), signature: bytes.slice(4) };
}

function checkpointText({ origin, size, root }: TreeCheckpoint): string {
  if (!isKeyName(origin)) throw new RangeError('the origin of a log has no white space and no plus sign');
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
}

/** The first 4 bytes of the SHA-256 of name, newline, kind and public key. */
function keyHash({ name, publicKeyHex }: NoteKey): Uint8Array {
  const input = Buffer.concat([utf8(`${name}\n`), Uint8Array.of(ED25519), hexBytes(publicKeyHex)]);
  return new Uint8Array(hash('sha256', Uint8Array.from(input), 'buffer')).slice(0, 4);
}

const hasControls = (text: string) => /[\u0000-\u0009\u000b-\u001f]/.test(text);

const hasLoneSurrogate = (text: string) => /\p{Surrogate}/u.test(text);
