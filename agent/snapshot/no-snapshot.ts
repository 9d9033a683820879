/** Why there is no snapshot; the message is shown unchanged. */
export class NoSnapshot extends Error {}

/** The snapshot does not fit into the body of a sync. */
export class SnapshotTooLarge extends NoSnapshot {
  constructor() {
    super('snapshot too large');
  }
}

/** The address names no database, so there is nothing to collect (AP-64). */
export class NoDatabaseNamed extends NoSnapshot {
  constructor() {
    super('config error: the url names no database');
  }
}
