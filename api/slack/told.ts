import { outsideDatabaseWork } from '../../db/call-limit.js';
import { GatewayError } from '../../domain/errors.js';
import { plainLine } from '../../domain/slack/text.js';
import type { SlackMethod } from '../../runtime/slack-client.js';
import type { SlackCall } from './call.js';

/** Hints of shape errors name places in a body that the user of Slack never saw. */
const isPlace = (hint: string) => /^(body|query|path|header)(\.[a-z_]+(\[\d+\])?)*$/.test(hint);

/** What a user is told of an error, in one plain line. Anything but a refusal is a bug: only the log has its cause (HT-94). */
export function toldOf(call: Pick<SlackCall, 'services' | 'callId'>, error: unknown): string {
  if (!(error instanceof GatewayError)) {
    report(call, error);
    return `internal server error: request id ${call.callId}`;
  }
  const { message, hint } = error;
  const told = hint === null || isPlace(hint) ? message : `${message}: ${hint}`;
  return told.length > 1000 ? `${told.slice(0, 1000)}…` : told;
}

/** The same of a submission that may have changed something (HT-114). */
export function toldOfSubmission(call: Pick<SlackCall, 'services' | 'callId'>, error: unknown): string {
  const told = toldOf(call, error);
  const isUnknown = !(error instanceof GatewayError) || error.code === 'service.unavailable';
  return isUnknown ? `${told}; ${unknownYet}` : told;
}

export const unknownYet = 'the outcome is not known yet: look at the request before you submit again';

/** Where a body has the wrong shape (HT-91); null for any other error. */
export const placeOf = (error: unknown): string | null =>
  error instanceof GatewayError && error.hint !== null && isPlace(error.hint) ? error.hint : null;

/** Logs what nobody foresaw. */
export function report({ services, callId }: Pick<SlackCall, 'services' | 'callId'>, error: unknown): void {
  if (error instanceof GatewayError) return;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  services.log.error({ call_id: callId, error: message, stack }, 'unexpected error of a call from Slack');
}

/** Tells the user alone, in the channel where they clicked. */
export async function tellInChannel(call: SlackCall, channel: string, text: string): Promise<void> {
  const { slackUserId: user } = call;
  await callSlack(call, 'chat.postEphemeral', { channel, user, text: plainLine(text, 1000) });
}

/** Whether Slack accepted it, with its answer. A failure is logged. */
export async function callSlack(
  { services, callId }: Pick<SlackCall, 'services' | 'callId'>,
  method: SlackMethod,
  args: Readonly<Record<string, unknown>>,
  timeoutMs?: number,
): Promise<Readonly<Record<string, unknown>> | null> {
  const answer = await outsideDatabaseWork(() => services.slack.call(method, args, timeoutMs));
  if (answer.ok) return answer.body;
  services.log.warn({ call_id: callId, method, error: answer.error }, 'Slack did not take a call');
  return null;
}
