import { z } from 'zod';
import { notFound } from '../../domain/errors.js';
import { slackIsOn } from '../../runtime/slack-client.js';
import type { Services } from '../context.js';
import { maxBodyBytes } from '../http/body.js';
import { anything, named, text } from '../http/fields.js';
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

const sent = (about: string) => text(about, { maxLength: maxBodyBytes });

const interaction = named('SlackInteraction', 'A click or a submitted form, as Slack sends it.', {
  payload: sent('What happened, as a JSON text.'),
});

const interactionAnswer = named('SlackInteractionAnswer', 'What Slack should do with the form.', {
  response_action: z.enum(['errors', 'update']).meta({ description: 'Whether it shows errors or another view.' }),
  errors: z.record(z.string(), text('What is wrong.')).optional().meta({ description: 'What is wrong with each block.' }),
  view: anything('The view.').optional(),
});

const command = named('SlackCommand', 'A slash command, as Slack sends it.', {
  user_id: sent('Who gave it, by the id in Slack.'),
  trigger_id: sent('The id with which a form can be opened.'),
  text: sent('What follows the command.').optional(),
});

const commandAnswer = named('SlackCommandAnswer', 'What Slack shows.', {
  response_type: z.literal('ephemeral').meta({ description: 'Only the user sees it.' }),
  text: text('The answer.'),
});

const documentedHeaders = z.object({
  'X-Slack-Signature': text("Slack's HMAC of the timestamp and the body.", { pattern: '^v0=[0-9a-f]{64}$' }),
  'X-Slack-Request-Timestamp': text('When Slack sent it, in seconds since 1970.', { pattern: '^[0-9]+$' }),
});

const signedBySlack = "Slack's signature is the credential.";

/** What Slack calls (slack.md section 2). Its signature is the credential; an answer without an object is empty. */
export function slackRoutes(times: SlackTimes): Route[] {
  const part: SlackPart = { times, afterwards: createAfterwards() };
  return [
    route({
      operationId: 'takeSlackInteraction',
      method: 'post',
      path: '/api/slack/interactions',
      summary: 'Receive a click or a submitted form from Slack',
      tag: 'slack',
      access: 'public',
      accessRule: signedBySlack,
      checkOn,
      documentedHeaders,
      form: interaction,
      status: 200,
      response: interactionAnswer,
      errors,
      handle: (call, services) => takeInteraction(call, services, part),
    }),
    route({
      operationId: 'takeSlackCommand',
      method: 'post',
      path: '/api/slack/commands',
      summary: 'Receive the slash command from Slack',
      tag: 'slack',
      access: 'public',
      accessRule: signedBySlack,
      checkOn,
      documentedHeaders,
      form: command,
      status: 200,
      response: commandAnswer,
      errors,
      handle: (call, services) => takeCommand(call, services, part),
    }),
  ];
}
