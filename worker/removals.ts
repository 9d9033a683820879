/** A store that is away fails every removal: after so many the rest of a part waits. */
const maxFailures = 5;

/** Removes one after the other; one that fails stops none of the others, and is thrown at the end, so that it is told and tried again (OP-80). */
export async function removeEach<T>(items: readonly T[], remove: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    await remove(item).catch((error: unknown) => failures.push(error));
    if (failures.length >= maxFailures) break;
  }
  if (failures.length > 0) throw failures[0];
}
