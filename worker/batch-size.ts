/** Of the rows of one statement. Halved that far, it is as quick as it can be. */
const fewest = 8;

/**
 * Calls work with how many rows it may take: after a failure half as many, as a database on a slow disk may have no time for a large batch, and
 * then more again, up to `most`.
 */
export function createBatchSize(most: number): <T>(work: (limit: number) => Promise<T>) => Promise<T> {
  let limit = most;
  return async (work) => {
    const tried = limit;
    limit = Math.max(fewest, tried >> 1);
    const done = await work(tried);
    limit = Math.min(most, tried + Math.ceil(tried / 8));
    return done;
  };
}
