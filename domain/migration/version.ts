/** Whether a text is a version: 1 to 255 characters of A-Z, a-z, 0-9, dot and hyphen (MI-02). */
export const versionPattern = /^[A-Za-z0-9.-]{1,255}$/;
export const isVersion = (text: string): boolean => versionPattern.test(text);

/** Orders versions by their UTF-8 bytes, whatever the database's collation (MI-22). The database's table may hold versions that no file can have. */
export function compareVersions(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  // UTF-16 units sort differently only where one half of a surrogate pair meets another character.
  return rank(one, at) - rank(other, at);
}

function rank(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) return -1;
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** The version of a new file: its UTC second as `yyyymmddhhmmss`, moved later by whole seconds until it is free (MI-06). */
export function newVersion(now: number, taken: ReadonlySet<string>): string {
  for (let instant = now; ; instant += 1000) {
    const version = new Date(instant).toISOString().replace(/\D/g, '').slice(0, 14);
    if (!taken.has(version)) return version;
  }
}

/** The name of a new file (MI-06). */
export function fileNameOf(version: string, name: string): string {
  return `${version}_${name.toLowerCase().replace(/[^a-z0-9_]/gu, '_')}.sql`;
}
