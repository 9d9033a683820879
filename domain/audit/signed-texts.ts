/** The texts that keys of purpose `audit` sign (audit.md section 5). All values are as they are stored. */

export interface CheckpointStatement {
  /** The `prev_hash` of the checkpoint event. */
  chainHeadHash: string;
  /** Events between this checkpoint and the one before, none of them counted. */
  count: number;
  /** The `created_at` of the checkpoint event. */
  createdAt: string;
}

export const checkpointText = ({ chainHeadHash, count, createdAt }: CheckpointStatement): string =>
  `audit-checkpoint:v1|${chainHeadHash}|${count}|${createdAt}`;

export interface HeadStatement {
  seq: number;
  eventHash: string;
  sealedAt: string;
}

export const headText = ({ seq, eventHash, sealedAt }: HeadStatement): string => `audit-head:v1|${seq}|${eventHash}|${sealedAt}`;

/** Signed with each head, as the leaves of purged events are no longer there to prove the root. The root is lower-case hex. */
export const treeText = ({ seq, treeRoot }: { seq: number; treeRoot: string }): string => `audit-tree:v1|${seq}|${treeRoot}`;

/** Signed once, when the first audit key is made. A log begins only with it, so that nobody who deletes a log can have another begun in its place. */
export const beginText = (keyId: string): string => `audit-begin:v1|${keyId}`;

export interface PurgeStatement {
  lastPurgedHash: string;
  purgedBefore: string;
  /** Sealed events left before the event that records the purge. */
  retainedCount: number;
}

export const purgeText = ({ lastPurgedHash, purgedBefore, retainedCount }: PurgeStatement): string =>
  `purge-checkpoint:v1|${lastPurgedHash}|${purgedBefore}|${retainedCount}`;

export interface ExportStatement {
  /** Null in an export without events, which is signed with an empty text in that place. */
  firstSeq: number | null;
  lastSeq: number | null;
  count: number;
  lastHash: string | null;
}

export const exportText = ({ firstSeq, lastSeq, count, lastHash }: ExportStatement): string =>
  `audit-export:v1|${firstSeq ?? ''}|${lastSeq ?? ''}|${count}|${lastHash ?? ''}`;
