import type { Logger } from 'pino';
import { type Anchor, createAnchorActivity } from '../../activities/anchor.js';
import type { Config } from '../../config/types.js';
import { openSignedCheckpoint } from '../../crypto/signed-note.js';
import type { Database } from '../../db/client.js';
import type { ReadAuditKeys } from '../../runtime/audit-keys.js';
import type { AnchorActivities } from '../../workflows/messages.js';
import { commandAnchor } from './command.js';
import { urlAnchor } from './url.js';

/** The anchor that the configuration names, or null (AU-89). */
export function anchorOf({ anchorCommand, anchorUrl, anchorToken, anchorTimeoutSecs }: Config['audit']): Anchor | null {
  const timeoutMs = anchorTimeoutSecs * 1000;
  if (anchorCommand.length > 0) return commandAnchor({ command: anchorCommand, timeoutMs });
  return anchorUrl === null ? null : urlAnchor({ url: anchorUrl, token: anchorToken, timeoutMs });
}

/** The activity with this worker's database, keys and log. */
export function openAnchorActivity(options: {
  anchor: Anchor;
  database: Database;
  keys: ReadAuditKeys;
  log: Logger;
  signal: AbortSignal;
}): AnchorActivities {
  const { anchor, database, keys, log, signal } = options;
  return createAnchorActivity({
    anchor,
    database,
    signal,
    async isGenuine({ seq, note }) {
      const { trusted } = await keys(database);
      return openSignedCheckpoint(note, trusted.values())?.size === seq;
    },
    onAnchored: (seq, bytes) => log.info({ seq, answer_bytes: bytes }, 'audit_anchored'),
    onFailure: (seq, reason, detail) =>
      log.warn({ seq, reason, ...(detail === '' ? {} : { detail }) }, 'the anchor did not take a checkpoint; it is tried again'),
  });
}
