/** An unreachable store fails every removal, so a part stops after this many failures. */
const maxFailures = 5;

/** Removes the items in turn. A failure does not stop the others; the first is thrown at the end, so that it is reported and retried (OP-80). */
export async function removeEach<T>(items: readonly T[], remove: (item: T) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) {
    await remove(item).catch((error: unknown) => failures.push(error));
    if (failures.length >= maxFailures) break;
  }
  if (failures.length > 0) throw failures[0];
}
