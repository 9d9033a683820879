import { temporalVersion } from './version.js';

/** An archive of the Temporal CLI and its expected checksum. */
export interface TemporalArchive {
  url: string;
  sha256: string;
  member: string;
}

const releases = 'https://github.com/temporalio/cli/releases/download';

/**
 * SHA-256 of the pinned release's archives, from its checksums.txt. Null: no sum was confirmed by two independent lists, so that
 * platform downloads nothing and builds with Go, whose sums are in go.sum. A new version needs new sums.
 */
export const archiveSums = {
  'linux-amd64': 'd8421bda989e6514b4bdb4d63a9012a8a05a806892e881a5aad8510496349a94',
  'linux-arm64': '83600a8fac6e3da54093e5da6918d399f501532b9f1172235603f9606f4ac6e4',
  'darwin-amd64': '489d7f5420cae02b559774ac23df035141954c33a51dba96f5759a0ddccdf1b6',
  'darwin-arm64': 'dacdc3587682c04cf27e67c8878ca2d755230b6ad63c0c6ebddd7348ae90ed94',
  'windows-amd64': null,
  'windows-arm64': null,
} as const satisfies Record<string, string | null>;

/** The archive for a platform in Node's terms; null where no sum is pinned (HD-92). */
export function archiveFor(platform: string, arch: string): TemporalArchive | null {
  const system = platform === 'win32' ? 'windows' : platform;
  const key = `${system}-${arch === 'x64' ? 'amd64' : arch}`;
  const sha256 = Object.hasOwn(archiveSums, key) ? archiveSums[key as keyof typeof archiveSums] : null;
  if (sha256 === null) return null;
  const { cli } = temporalVersion;
  return { url: `${releases}/v${cli}/temporal_cli_${cli}_${key.replace('-', '_')}.tar.gz`, sha256, member: 'temporal' };
}

/** What finding or building the `temporal` program needs. */
export interface ProgramOptions {
  environment: Record<string, string | undefined>;
  report: (line: string) => void;
  signal: AbortSignal;
  /** Replaces this platform's pinned archive; null downloads nothing. */
  archive?: TemporalArchive | null;
}
