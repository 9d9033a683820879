import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';

export interface ConsoleFile {
  contentType: string;
  plain: Uint8Array;
  /** By the name of the encoding; made with the build. */
  encoded: ReadonlyMap<Encoding, Uint8Array>;
}

/** What the build of the web console made: it is read once, so that no path of a call ever reaches a folder. */
export interface ConsoleFiles {
  page: ConsoleFile;
  /** By name. A name holds a hash of the content. */
  assets: ReadonlyMap<string, ConsoleFile>;
}

type Encoding = 'br' | 'gzip';
/** The smaller first. */
const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Null where it was not built. The build says in `console.json` which folder it made last. */
export async function readConsoleFiles(dist: URL = new URL('../../dist/', import.meta.url)): Promise<ConsoleFiles | null> {
  const stamp = await read(new URL('console.json', dist));
  if (stamp === null) return null;
  const { folder } = JSON.parse(new TextDecoder().decode(stamp)) as { folder: string };
  const root = new URL(`${encodeURIComponent(folder)}/`, dist);
  const page = await readOne(new URL('index.html', root));
  if (page === null) return null;
  const assets = new Map<string, ConsoleFile>();
  for (const name of await readdir(new URL('assets/', root))) {
    const file = await readOne(new URL(`assets/${encodeURIComponent(name)}`, root));
    if (file !== null) assets.set(name, file);
  }
  return { page, assets };
}

async function readOne(file: URL): Promise<ConsoleFile | null> {
  const contentType = types[extname(file.pathname)];
  const plain = contentType === undefined ? null : await read(file);
  if (contentType === undefined || plain === null) return null;
  const encoded = new Map<Encoding, Uint8Array>();
  for (const [encoding, ending] of encodings) {
    const content = await read(new URL(`${file.href}${ending}`));
    if (content !== null) encoded.set(encoding, content);
  }
  return { contentType, plain, encoded };
}

async function read(file: URL): Promise<Uint8Array | null> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

/** The content in the form that the caller takes, and its headers. */
export function formOf(
  file: ConsoleFile,
  accepted: string | undefined,
): { content: Uint8Array; headers: Record<string, string> } {
  const vary = { Vary: 'Accept-Encoding' };
  for (const [encoding] of encodings) {
    const content = file.encoded.get(encoding);
    if (content !== undefined && accepts(accepted, encoding))
      return { content, headers: { ...vary, 'Content-Encoding': encoding } };
  }
  return { content: file.plain, headers: vary };
}

function accepts(header: string | undefined, encoding: Encoding): boolean {
  return (header ?? '').split(',').some((offer) => {
    const [name, ...parameters] = offer.split(';').map((part) => part.trim().toLowerCase());
    return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
