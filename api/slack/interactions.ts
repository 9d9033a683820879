import { z } from 'zod';
import { limitDatabaseWork } from '../../db/call-limit.js';
import { invalid } from '../../domain/errors.js';
import { isNestedDeeper } from '../../lib/json/depth.js';
import { isRecord } from '../../lib/record.js';
import type { Services } from '../context.js';
import { maxDepth } from '../http/body.js';
import { type Reply, text } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { parsePart } from '../http/shape.js';
import type { SlackCall, SlackTimes, ViewAnswer } from './call.js';
import { actions, submissions } from './handlers.js';
import { type Afterwards, inTime, leftMs } from './in-time.js';
import { tellInChannel, toldOf, toldOfSubmission, unknownYet } from './told.js';
import { verifiedForm } from './verified.js';
import { errorOn } from './view-answers.js';

type FormCall = Call<undefined, undefined, undefined>;

export interface SlackPart {
  times: SlackTimes;
  afterwards: Afterwards;
}

/** `POST /api/slack/interactions`: a button that was clicked or a modal that was submitted. */
export async function takeInteraction(
  call: FormCall,
  services: Services,
  part: SlackPart,
): Promise<Reply | NonNullable<ViewAnswer>> {
  const form = await signedForm(call, services);
  if (form === null) return nothing();
  const payload = parsePayload(form.get('payload'));
  const sender = (user: SlackSender): SlackCall => slackCall(call, services, part, user);
  if (payload.type === 'block_actions') {
    takeClick(payload, sender, part);
    return nothing();
  }
  if (payload.type === 'view_submission') return (await takeSubmission(payload, sender)) ?? nothing();
  return nothing();
}

/** 200 with an empty body. */
export const nothing = (): Reply => text('text/plain; charset=utf-8', '');

/** The form of a signed call, in the time that Slack waits; null for a repeat. */
export const signedForm = (call: FormCall, services: Services): Promise<URLSearchParams | null> =>
  limitDatabaseWork(leftMs(call), () => verifiedForm(call, services));

type SlackSender = z.input<typeof user>;

export const slackCall = (call: FormCall, services: Services, { times }: SlackPart, user: SlackSender): SlackCall => ({
  services,
  times,
  generation: call.generation,
  address: call.sender.address,
  callId: call.callId,
  startedAt: call.startedAt,
  slackUserId: user.id,
  slackUserName: user.name ?? user.username ?? null,
});

function parsePayload(payload: string | null): Record<string, unknown> {
  if (payload === null) throw invalid('payload is required', 'body.payload');
  if (isNestedDeeper(Buffer.from(payload), maxDepth)) throw invalid(`payload is nested deeper than ${maxDepth}`, 'body.payload');
  const value = parseJson(payload);
  if (!isRecord(value)) throw invalid('payload must be an object', 'body.payload');
  return value;
}

function parseJson(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw invalid('payload is not valid JSON', 'body.payload');
  }
}

const user = z.object({ id: z.string(), name: z.string().nullish(), username: z.string().nullish() });

const click = z.object({
  trigger_id: z.string(),
  user,
  channel: z.object({ id: z.string() }).nullish(),
  actions: z.array(z.looseObject({ action_id: z.string() })).min(1),
});

/** The first action counts (slack.md section 3). */
function takeClick(payload: Record<string, unknown>, sender: (user: SlackSender) => SlackCall, { afterwards }: SlackPart): void {
  const { trigger_id: triggerId, user, channel, actions: clicked } = parsePart('body', click, payload);
  const { action_id: name, value } = clicked[0]!;
  const handler = actions.get(name);
  if (handler === undefined || typeof value !== 'string') return;
  const call = sender(user);
  afterwards(call.services, async () => {
    try {
      await handler(call, { value, triggerId });
    } catch (error) {
      const told = toldOf(call, error);
      if (channel != null) await tellInChannel(call, channel.id, told);
    }
  });
}

const submission = z.object({
  user,
  view: z.object({
    id: z.string().min(1).max(200),
    callback_id: z.string(),
    private_metadata: z.string().nullish(),
    state: z.object({ values: z.unknown() }).nullish(),
  }),
});

async function takeSubmission(payload: Record<string, unknown>, sender: (user: SlackSender) => SlackCall): Promise<ViewAnswer> {
  const { user, view } = parsePart('body', submission, payload);
  const handler = submissions.get(view.callback_id);
  if (handler === undefined) return null;
  const call = sender(user);
  const onFirst = (message: string): ViewAnswer => errorOn(handler.firstBlock, message);
  const submitted = { id: view.id, privateMetadata: view.private_metadata ?? '', values: view.state?.values };
  const submit = () => handler.submit(call, submitted).catch((error: unknown) => onFirst(toldOfSubmission(call, error)));
  return inTime(call, submit, () => onFirst(unknownYet));
}
