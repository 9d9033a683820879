import type { Direction } from '../../domain/migration/bundle.js';
import type { MigrationRepair } from '../../domain/migration/detail.js';
import type { MigrationStatement } from '../../sql/migration-text.js';

export type { Direction } from '../../domain/migration/bundle.js';
export type { MigrationRepair } from '../../domain/migration/detail.js';

/** One gated migration of a request: its texts run byte for byte, in order. */
export interface Migration {
  version: string;
  transactional: boolean;
  statements: readonly MigrationStatement[];
}

export interface MigrationRun {
  direction: Direction;
  /** In file order, for both directions. */
  migrations: readonly Migration[];
  /** Null = no cap. */
  maxCount: number | null;
}

/** What a migrate operation asks of a database (migrations.md section 4). */
export type MigrationTask =
  | { kind: 'run'; bundle: MigrationRun }
  | { kind: 'status' }
  | { kind: 'repair'; repair: MigrationRepair };
