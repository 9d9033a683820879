import type { Logger } from 'pino';
import type { Config } from '../config/types.js';
import type { SigningKey } from '../crypto/ed25519.js';
import type { Database, Queryable } from '../db/client.js';
import type { Notifications } from '../db/notifications.js';
import type { Errands } from '../lib/errands.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import type { AuthFailureLog } from '../runtime/auth-failures.js';
import type { Generation } from '../runtime/generation.js';
import type { LastHour } from '../runtime/last-hour.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Metrics } from '../runtime/metrics.js';
import type { CodeLogin } from '../runtime/oidc/code-login.js';
import type { RateLimiter } from '../runtime/rate-limits/limiter.js';
import type { RequestFeed } from '../runtime/request-feed.js';
import type { ResultStore } from '../runtime/result-store.js';
import type { KeyRing } from '../runtime/signing-keys.js';
import type { SlackClient } from '../runtime/slack-client.js';
import type { SqlClassifier } from '../sql/classify.js';
import type { Tracing } from '../tracing/tracing.js';
import type { ReadyPolls } from './agent/ready-polls.js';
import type { ConsoleFiles } from './console/files.js';
import type { EventStreams } from './events/streams.js';
import type { CallSigns } from './mcp/signs.js';
import type { KeyLines } from './requests/key-lines.js';
import type { TemporalReader } from './temporal.js';

export type { Generation } from '../runtime/generation.js';

export interface PublicKeyEntry {
  keyId: string;
  publicKeyHex: string;
  status: 'current' | 'next' | 'retiring';
  /** Milliseconds since the epoch; set for `retiring` only. */
  notAfter: number | null;
}

export interface SigningKeys {
  /** The key for both signatures of an agent's tokens. `db` reads the key if it is not open yet. */
  signer(keyId: string, db: Queryable): Promise<SigningKey>;
  /** All published keys, newest first (ET-18). */
  publicKeys(): Promise<PublicKeyEntry[]>;
  /** All keys that were ever ours, also those that sign no more. */
  everyRow: KeyRing['everyRow'];
}

/** What handlers work with; created once per process. */
export interface Services {
  database: Database;
  notifications: Notifications;
  classifier: SqlClassifier;
  config(): Config;
  generation(): Generation;
  signingKeys: SigningKeys;
  auditKeys: ReadAuditKeys;
  results: ResultStore;
  metrics: Metrics;
  tracing: Tracing;
  log: Logger;
  codeLogin: CodeLogin;
  lastHour: LastHour;
  limiter: RateLimiter;
  authFailures: AuthFailureLog;
  lifecycle: Lifecycle;
  /** One line per requester and idempotency key (RQ-30). */
  keyLines: KeyLines;
  /** Null where it was not built. */
  consoleFiles: ConsoleFiles | null;
  requestFeed: RequestFeed;
  callSigns: CallSigns;
  eventStreams: EventStreams;
  readyPolls: ReadyPolls;
  temporal: TemporalReader;
  slack: SlackClient;
  /** What a stop of the server waits for. */
  errands: Errands;
  /** `MAJOR.MINOR.PATCH`, the value of `x-svc-version`. */
  version: string;
}
