/** The snapshot does not fit into the body of a sync. */
export class SnapshotTooLarge extends Error {
  constructor() {
    super('snapshot too large');
  }
}
