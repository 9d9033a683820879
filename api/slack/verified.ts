import { type SlackSignatureFault, slackSignatureFault } from '../../crypto/slack-signature.js';
import { rememberSignature } from '../../db/slack-signatures.js';
import { refuseCredential } from '../../runtime/authentication.js';
import type { Services } from '../context.js';
import type { Call } from '../http/route.js';

/** The form of a call that Slack signed; null for one that has been accepted before (SL-12). Throws 401 for any other (SL-11). */
export async function verifiedForm(
  { sender, bodyBytes: body }: Pick<Call<undefined, undefined, undefined>, 'sender' | 'bodyBytes'>,
  services: Services,
): Promise<URLSearchParams | null> {
  const signature = header(sender, 'x-slack-signature');
  const signed = { timestamp: header(sender, 'x-slack-request-timestamp'), signature, body };
  const fault = slackSignatureFault(services.config().slack.signingSecret, signed, Date.now());
  if (fault !== null || signature === undefined) {
    const refused = { code: 'auth.invalid_token', text: 'invalid token', cause: causeOf[fault ?? 'not signed'] } as const;
    throw await refuseCredential({ ...refused, subject: null, tokenPrefix: null }, sender, services.authFailures.record);
  }
  if (!(await rememberSignature(services.database, signature))) return null;
  return new URLSearchParams(Buffer.from(body).toString());
}

function header({ request }: Parameters<typeof verifiedForm>[0]['sender'], name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** `failure_reason` of the audit event. */
const causeOf = {
  'not signed': 'slack_not_signed',
  'signature does not match': 'slack_signature',
  'timestamp too old': 'slack_timestamp',
  'timestamp in the future': 'slack_timestamp',
} as const satisfies Record<SlackSignatureFault, string>;
