import { randomBytes } from 'node:crypto';
import { sha256Hex } from '../../crypto/hash.js';
import { insertCode, takeCode } from '../../db/console-codes.js';
import { iso } from '../../db/row-types.js';
import { forbidden } from '../../domain/errors.js';
import { refuseCredential } from '../../runtime/authentication.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';
import { openSession, type Session, type SessionSource, sourceOf } from './session.js';

const codeSecs = 60;
/** How many unused codes a user may have. */
const maxCodes = 20;

/** `POST /api/console/code` (CO-33). */
export async function makeCode(call: Call<undefined, undefined, undefined>, { database }: Services) {
  if (call.sender.credential?.isCookie) throw forbidden('a code is made with a token, not by a session');
  const source = sourceOf(call);
  const code = randomBytes(32).toString('base64url');
  const stored = { hash: sha256Hex(code), userId: source.userId, source, seconds: codeSecs, kept: maxCodes };
  const expiresAt = await database.transaction((tx) => insertCode(tx, stored));
  return { code, expires_at: iso(expiresAt) };
}

/** The session that a code was made for. Refuses and counts every other code as a wrong token. */
export async function sessionByCode(
  code: string,
  { sender }: Pick<Call<undefined, undefined, undefined>, 'sender'>,
  { database, config, authFailures }: Services,
): Promise<Session> {
  const { sessionSecs } = config().console;
  const session = await database.transaction(async (tx) => {
    const source = await takeCode<SessionSource>(tx, sha256Hex(code));
    if (source === undefined) return null;
    const actor = { id: source.userId, type: 'user', tokenId: source.tokenId, ...sender.address } as const;
    return openSession(tx, actor, source, sessionSecs);
  });
  if (session !== null) return session;
  const refused = { code: 'auth.invalid_token', text: 'invalid token', hint, cause: 'console_code' } as const;
  throw await refuseCredential({ ...refused, subject: null, tokenPrefix: null }, sender, authFailures.record);
}

const hint = 'the link was used already, or is older than a minute: svc console makes another';
