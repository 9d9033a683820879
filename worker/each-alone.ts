/** If a part fails as a whole, for example because a store cannot be reached, so many fail in a row and the rest would too. */
const maxFailures = 5;

/** Handles the items in turn; one that fails holds up no other (OP-80). Stops when five in a row fail. The first failure is thrown at the end. */
export async function eachAlone<T>(
  items: readonly T[],
  handle: (item: T) => Promise<void>,
  onFailure: (item: T) => void = () => {},
): Promise<void> {
  const failures: unknown[] = [];
  let inARow = 0;
  for (const item of items) {
    try {
      await handle(item);
      inARow = 0;
    } catch (error) {
      failures.push(error);
      onFailure(item);
      inARow += 1;
    }
    if (inARow === maxFailures) break;
  }
  if (failures.length > 0) throw failures[0];
}
