import { invalid } from '../../domain/errors.js';
import { plainLine } from '../../domain/slack/text.js';
import type { Services } from '../context.js';
import type { Reply } from '../http/reply.js';
import type { Call } from '../http/route.js';
import type { SlackCall } from './call.js';
import { commands } from './handlers.js';
import { inTime } from './in-time.js';
import { nothing, type SlackPart, signedForm, slackCall } from './interactions.js';
import { toldOf } from './told.js';

interface Ephemeral {
  response_type: 'ephemeral';
  text: string;
}

const ephemeral = (text: string): Ephemeral => ({ response_type: 'ephemeral', text });

/** `POST /api/slack/commands`: `/svc` and a word. */
export async function takeCommand(
  call: Call<undefined, undefined, undefined>,
  services: Services,
  part: SlackPart,
): Promise<Reply | Ephemeral> {
  const form = await signedForm(call, services);
  // Slack checks the certificate of the address with this call (SL-10).
  if (form === null || form.get('ssl_check') === '1') return nothing();
  const slackUserId = form.get('user_id');
  if (slackUserId === null) throw invalid('user_id is required', 'body.user_id');
  const told = await answer(slackCall(call, services, part, { id: slackUserId, name: form.get('user_name') }), form);
  return told === null ? nothing() : ephemeral(told);
}

async function answer(call: SlackCall, form: URLSearchParams): Promise<string | null> {
  const [word = ''] = (form.get('text') ?? '').trim().split(/\s+/, 1);
  const handler = commands.get(word);
  if (handler === undefined) return 'no such command: /svc help lists them';
  const triggerId = form.get('trigger_id');
  if (triggerId === null || triggerId === '') return 'Slack sent no trigger_id: try again';
  const work = () => handler(call, { triggerId }).catch((error: unknown) => plainLine(toldOf(call, error), 1000));
  return inTime(call, work, () => 'the gateway or Slack took too long: try again');
}
