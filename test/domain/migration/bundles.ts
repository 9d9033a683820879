const versionOf = (number: number) => String(20310101000000 + number);

/** The members of a `migrate_up` detail with versions 20310101000000 + each number. */
export function bundleOf(numbers: readonly number[], over: object = {}) {
  const migrations = numbers.map((number) => ({ version: versionOf(number), sql: `select ${number}` }));
  return { format: 'v2', direction: 'up', versions: numbers.map(versionOf), migrations, dir_sha256: 'ab', max_count: 1, ...over };
}

export const bundleText = (numbers: readonly number[], over: object = {}): string => JSON.stringify(bundleOf(numbers, over));
