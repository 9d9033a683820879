import type { TemporalArchive } from './archives.js';

/** Version of the Temporal CLI, and of the server inside it, that this gateway was tried with. */
export const temporalVersion = { cli: '1.8.2', server: '1.31.2' };

/** What finding or making the `temporal` program needs. */
export interface ProgramOptions {
  environment: Record<string, string | undefined>;
  report: (line: string) => void;
  signal: AbortSignal;
  /** Instead of the pinned archive of this platform; null downloads nothing. */
  archive?: TemporalArchive | null;
}
