/** Whether a text is a version: 1 to 255 characters of A-Z, a-z, 0-9, dot and hyphen (MI-02). */
export function isVersion(text: string): boolean {
  return /^[A-Za-z0-9.-]{1,255}$/.test(text);
}

/** The order of versions: by the bytes of UTF-8, whatever the database's collation (MI-22); its table may hold versions that no file could have. */
export function compareVersions(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  // Units of UTF-16 are out of that order only where one half of a pair stands against a character that is none.
  return rank(one, at) - rank(other, at);
}

function rank(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) return -1;
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** The version of a new file: its UTC second as `yyyymmddhhmmss`, later by as many seconds as it takes to be free (MI-06). */
export function newVersion(now: number, taken: ReadonlySet<string>): string {
  for (let instant = now; ; instant += 1000) {
    const version = new Date(instant).toISOString().replace(/\D/g, '').slice(0, 14);
    if (!taken.has(version)) return version;
  }
}

/** The name of a new file as its file name holds it (MI-06). */
export function fileNameOf(version: string, name: string): string {
  return `${version}_${name.toLowerCase().replace(/[^a-z0-9_]/gu, '_')}.sql`;
}
