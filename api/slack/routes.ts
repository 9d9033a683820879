import { z } from 'zod';
import { notFound } from '../../domain/errors.js';
import { slackIsOn } from '../../runtime/slack-client.js';
import type { Services } from '../context.js';
import { type Route, route } from '../http/route.js';
import type { SlackTimes } from './call.js';
import { takeCommand } from './commands.js';
import { createAfterwards } from './in-time.js';
import { type SlackPart, takeInteraction } from './interactions.js';

/** SL-2. */
function checkOn(services: Services): void {
  if (!slackIsOn(services.config().slack)) throw notFound('slack');
}

const errors = ['slack.not_found', 'auth.invalid_token'] as const;

/** What Slack calls (slack.md section 2). Its signature is the credential; an answer without an object is empty. */
export function slackRoutes(times: SlackTimes): Route[] {
  const part: SlackPart = { times, afterwards: createAfterwards() };
  return [
    route({
      operationId: 'takeSlackInteraction',
      method: 'post',
      path: '/api/slack/interactions',
      summary: 'For Slack: a button that was clicked or a modal that was submitted',
      tag: 'slack',
      access: 'public',
      checkOn,
      form: z.object({ payload: z.string() }),
      status: 200,
      response: z.object({
        response_action: z.enum(['errors', 'update']),
        errors: z.record(z.string(), z.string()).optional(),
        view: z.unknown().optional(),
      }),
      errors,
      handle: (call, services) => takeInteraction(call, services, part),
    }),
    route({
      operationId: 'takeSlackCommand',
      method: 'post',
      path: '/api/slack/commands',
      summary: 'For Slack: the slash command',
      tag: 'slack',
      access: 'public',
      checkOn,
      form: z.object({ user_id: z.string(), trigger_id: z.string(), text: z.string().optional() }),
      status: 200,
      response: z.object({ response_type: z.literal('ephemeral'), text: z.string() }),
      errors,
      handle: (call, services) => takeCommand(call, services, part),
    }),
  ];
}
