const form = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** Whether `version` is a semantic version lower than `minimum`; a text that does not parse is never lower (AG-26). */
export function isLowerVersion(version: string, minimum: string): boolean {
  const a = form.exec(version);
  const b = form.exec(minimum);
  if (a === null || b === null) return false;
  for (const part of [1, 2, 3]) {
    const difference = Number(a[part]) - Number(b[part]);
    if (difference !== 0) return difference < 0;
  }
  return comparePreReleases(a[4], b[4]) < 0;
}

/** A pre-release is lower than its release; identifiers compare as the standard says. */
function comparePreReleases(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  const left = a.split('.');
  const right = b.split('.');
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const order = compareIdentifiers(left[index], right[index]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  const numeric = [a, b].map((text) => /^\d+$/.test(text));
  if (numeric[0] && numeric[1]) return Number(a) - Number(b);
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
